//===- FullyInitialised.h - is every byte of the object written? ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Proves that a site's objects are written whole by the function that allocates them.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_FULLYINITIALISED_H
#define SMALLOC_PASSES_FULLYINITIALISED_H

#include "passes/decisions/SiteDecision.h"
#include "passes/loops/LoopAccesses.h"
#include "passes/pointers/MemoryTouches.h"

namespace smalloc {

/// Every byte of the object is written by a loop, or one of \p Fills, of the allocating function after the allocation. \p References and
/// \p Fills: all of that function.
bool fullyInitialised(const SiteDecision &Site, llvm::ArrayRef<LoopReference> References,
                      llvm::ArrayRef<Fill> Fills, llvm::FunctionAnalysisManager &FAM);

} // namespace smalloc
#endif
