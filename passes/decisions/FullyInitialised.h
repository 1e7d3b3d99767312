//===- FullyInitialised.h - proves that new objects are filled ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Proves that the function that allocates a site's objects also writes all their bytes.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_FULLYINITIALISED_H
#define SMALLOC_PASSES_FULLYINITIALISED_H

#include "passes/decisions/SiteDecision.h"
#include "passes/loops/LoopAccesses.h"
#include "passes/pointers/MemoryTouches.h"

namespace smalloc {

/// True if a loop or one of \p Fills writes every byte of the object after the allocation.
/// \p References and \p Fills must be all of the allocating function.
bool fullyInitialised(const SiteDecision &Site, llvm::ArrayRef<LoopReference> References,
                      llvm::ArrayRef<Fill> Fills, llvm::FunctionAnalysisManager &FAM);

} // namespace smalloc
#endif
