//===- SiteVariable.h - which array is allocated? ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the source calls the memory of an allocation: the variable, or member, that its pointer or its descriptor is stored in.
// It is asked before the first optimisation. Names of globals are always there (flang's encode module, procedure and variable); those of
// locals, arguments and members come from debug information.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_SITEVARIABLE_H
#define SMALLOC_PASSES_SITEVARIABLE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/InstrTypes.h"
#include <string>

namespace smalloc {

/// Of a site: the name of what gets its memory.
inline constexpr llvm::StringRef SiteVariableAttr = "smalloc-variable";

/// Empty: unknown. \p Place: where \p Call itself stores its pointer, or what is a descriptor; null: it returns it.
std::string variableOf(const llvm::CallBase &Call, const llvm::Value *Place);

} // namespace smalloc
#endif
