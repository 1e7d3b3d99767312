//===- Preheaders.h - where a call before a loop stands ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_PREHEADERS_H
#define SMALLOC_PASSES_PREHEADERS_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

namespace smalloc {

/// The preheader of \p L, made anew if it was simplified away: behind the loop's guard, so that a loop that does not run
/// asks nothing. Null: an edge into the loop cannot be split.
inline llvm::BasicBlock *preheaderOf(const llvm::Loop *L, llvm::Function &F,
                                     llvm::FunctionAnalysisManager &FAM) {
  if (llvm::BasicBlock *Known = L->getLoopPreheader())
    return Known;
  return llvm::InsertPreheaderForLoop(const_cast<llvm::Loop *>(L),
                                      &FAM.getResult<llvm::DominatorTreeAnalysis>(F),
                                      &FAM.getResult<llvm::LoopAnalysis>(F), nullptr,
                                      /*PreserveLCSSA=*/false);
}

} // namespace smalloc
#endif
