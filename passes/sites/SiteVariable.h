//===- SiteVariable.h - the variable that an allocation is stored in --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the source name of an allocation's memory: the variable or member that its pointer or its
// descriptor is stored in. Runs before the first optimisation. Names of globals are always
// available; flang's names encode module, procedure and variable. Names of locals, arguments and
// members come from debug information.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_SITEVARIABLE_H
#define SMALLOC_PASSES_SITEVARIABLE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/InstrTypes.h"
#include <string>

namespace smalloc {

/// Attribute of a site: the name of the variable that gets its memory.
inline constexpr llvm::StringRef SiteVariableAttr = "smalloc-variable";

/// Returns the name of the variable that gets the memory of \p Call; empty: unknown. \p Place:
/// where \p Call itself stores its pointer or descriptor; null: it returns the pointer.
std::string variableOf(const llvm::CallBase &Call, const llvm::Value *Place);

} // namespace smalloc
#endif
