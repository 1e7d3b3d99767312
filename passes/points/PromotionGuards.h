//===- PromotionGuards.h - what a promotion point costs when nothing waits --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what becomes of a promotion point when all loops have their last form. Before a lone loop: a test inline of
// whether some object waits, and the call in a cold block that spoils no register, with all that only the call needs. A
// loop of three iterations in a function of its own feels a call before it (1.6 times the instructions; with the test
// 1.1). Before a nest: a call that spoils no register either, of a thunk that tests: compiling it takes a third.
// And when something waits, perhaps for as long as the program runs: the misses that a thread's points are worth are added
// up, by the points of an executable in line, and libsmalloc hears of SMALLOC_TOUCH_BATCH at a time: a point takes 9 to 11
// instructions, where one that calls takes 70.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_PROMOTIONGUARDS_H
#define SMALLOC_PASSES_PROMOTIONGUARDS_H

#include "passes/points/PointParts.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"

namespace smalloc {

/// The thunk that a promotion point calls until then: a unit for the link keeps the calls, of which the link's phase asks
/// whether they are there.
constexpr llvm::StringRef TouchName = "__smalloc_v1_touch";

/// unsigned __smalloc_v1_pending, weak: not zero while some object waits for promotion.
llvm::Constant *pendingObjects(llvm::Module &M);

/// Creates the hidden function \p Name of the type void(ptr, i64) (PointParts.h).
llvm::Function *hiddenTouch(llvm::Module &M, llvm::StringRef Name);

/// Gives \p Thunk its body: it calls libsmalloc's entry with its arguments, when some object waits, and with batches if it
/// \p Counts.
void lookAndCall(llvm::Function &Thunk, bool Counts = false);

class PromotionGuardsPass : public llvm::PassInfoMixin<PromotionGuardsPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);
};

} // namespace smalloc
#endif
