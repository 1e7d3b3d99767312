//===- ClearedSites.h - a calloc that was malloc and memset -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what stays known of a malloc whose memory is cleared at once. The optimiser makes one
// calloc of both before anything is decided, without attributes: the site would lose its id, its
// name, and that the program writes all of it. The calloc keeps the malloc's place in the source,
// by which it is found again.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_CLEAREDSITES_H
#define SMALLOC_PASSES_CLEAREDSITES_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/InstrTypes.h"

namespace smalloc {

/// Of a calloc: the program has malloc and a memset of all its bytes.
inline constexpr llvm::StringRef ClearedAttr = "smalloc-cleared";

/// Keeps the ids and places of the unit's mallocs, if anything in it clears memory. Needs the
/// sites' attributes.
void keepClearableSites(llvm::Module &M);

/// What was kept, until the sites are numbered for the last time.
class ClearableSites {
public:
  explicit ClearableSites(llvm::Module &M);
  /// Marks \p Call, which has no id, if the optimiser made it of malloc and memset; true if it has
  /// the malloc's id now.
  bool takeOver(llvm::CallBase &Call);

private:
  llvm::StringMap<std::pair<llvm::StringRef, llvm::StringRef>> Known; ///< place to id and function
};

} // namespace smalloc
#endif
