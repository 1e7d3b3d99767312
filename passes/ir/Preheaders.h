//===- Preheaders.h - the block before a loop -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the preheader of a loop, where the plugin inserts what has to run once before the loop.
// LLVM may have simplified the preheader away. Inserting it again updates dominators and loops, and
// no other analysis.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_PREHEADERS_H
#define SMALLOC_PASSES_PREHEADERS_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

namespace smalloc {

/// Returns the preheader of \p L; creates one if there is none. In a rotated loop it stands behind
/// the loop's guard, so code in it does not run if the body does not. Null: an edge into the loop
/// cannot be split.
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
