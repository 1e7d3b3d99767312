//===- LoopAccesses.h - the memory accesses of loops ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists the loads and stores inside loops. For each one finds how its address moves with every
// enclosing loop (AddressMotion) and how often each loop runs (TripCounts). Also finds groups of
// references at a fixed distance from each other, and whether the program prefetches what a
// reference reaches.
//
// Recursion over a structure counts as a loop around the function's body: a function that calls
// itself with a pointer loaded through its argument. A function called from a loop of the unit has
// that loop around its nests.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_LOOPACCESSES_H
#define SMALLOC_PASSES_LOOPACCESSES_H

#include "passes/loops/LoopReference.h"
#include "llvm/IR/PassManager.h"
#include <vector>

namespace smalloc {

/// Returns all references of \p F that a loop or recursion repeats. References to the same window
/// of \p PageBytes of the same recurrence (a[i-1], a[i], a[i+1]) are listed once. \p CalledInLoop:
/// a loop of the unit calls \p F.
std::vector<LoopReference> loopReferences(llvm::Function &F, llvm::FunctionAnalysisManager &FAM,
                                          bool CalledInLoop, uint64_t PageBytes);

} // namespace smalloc
#endif
