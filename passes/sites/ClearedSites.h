//===- ClearedSites.h - calloc made from malloc and memset ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps the identity of a malloc whose memory is cleared at once. The optimiser replaces malloc and
// memset by one calloc without attributes before the plugin decides anything. The site would lose
// its id, its name, and the fact that the program writes all of it. The calloc keeps the malloc's
// source location, by which this file finds the malloc again.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_CLEAREDSITES_H
#define SMALLOC_PASSES_CLEAREDSITES_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/InstrTypes.h"

namespace smalloc {

/// Attribute of a calloc: the source has a malloc and a memset of all its bytes.
inline constexpr llvm::StringRef ClearedAttr = "smalloc-cleared";

/// Records the ids and source locations of the unit's mallocs if any code in it clears memory.
/// REQUIRES: the sites have their attributes.
void keepClearableSites(llvm::Module &M);

/// The records of keepClearableSites(), for the last numbering of the sites.
class ClearableSites {
public:
  explicit ClearableSites(llvm::Module &M);
  /// Marks \p Call, which has no id, if the optimiser made it from malloc and memset. True if it
  /// now has the malloc's id.
  bool takeOver(llvm::CallBase &Call);

private:
  llvm::StringMap<std::pair<llvm::StringRef, llvm::StringRef>> Known; ///< place to id and function
};

} // namespace smalloc
#endif
