//===- FillPoints.h - where a program says what it is about to fill ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where the program tells the runtime that a loop nest, a memset, a copy or a read is about to
// write a range of memory: directly before it. A superpage costs a sixth of its base pages before the
// first touch and more than them after it, and most objects are filled by code that does not see the
// allocation, with sizes that are known at run time only. The test of the size stands in line; the call
// is in a cold block.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_FILLPOINTS_H
#define SMALLOC_PASSES_FILLPOINTS_H

#include "passes/loops/LoopAccesses.h"
#include "passes/pointers/MemoryTouches.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace smalloc {

/// What is known to be written, and may be memory that no decision has put on superpages yet.
struct FillCandidates {
  std::vector<LoopReference> Stores; ///< one function after the other
  std::vector<Fill> Calls;
  bool empty() const { return Stores.empty() && Calls.empty(); }
};

/// Puts a call of __smalloc_v1_filling before each fill whose range the program can compute there.
/// Calls \p Changes with each function before it changes that. Uses the analyses of the verdicts.
void insertFillPoints(const FillCandidates &Candidates, llvm::FunctionAnalysisManager &FAM,
                      llvm::function_ref<void(llvm::Function &)> Changes);

} // namespace smalloc
#endif
