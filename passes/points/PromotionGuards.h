//===- PromotionGuards.h - cost of an idle promotion point ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expands promotion points when all loops have their last form. Before a lone loop: an inline test
// of whether some object waits for promotion, and the call in a cold block. The call preserves
// general registers, and the cold block holds all that only the call needs. A loop of three
// iterations in a function of its own runs 1.6 times the instructions with a call before it; with
// the test, 1.1 times. Before a nest: a call, which preserves these registers too, of a thunk that
// tests. It takes a third of the time to compile.
//
// An object may wait for as long as the program runs. So points add up, per thread, the misses that
// they are worth, and report them to libsmalloc in batches of SMALLOC_TOUCH_BATCH. The points of
// executables add inline. A point then takes 9 to 11 instructions; one that calls takes 70.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_PROMOTIONGUARDS_H
#define SMALLOC_PASSES_PROMOTIONGUARDS_H

#include "passes/points/PointParts.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"

namespace smalloc {

/// The thunk that a promotion point calls until PromotionGuardsPass runs. A unit for the link keeps
/// these calls. The link's phase looks for them, and inserts no second call.
constexpr llvm::StringRef TouchName = "__smalloc_v1_touch";

/// Returns the weak `unsigned __smalloc_v1_pending`, which is not zero while some object waits for
/// promotion.
llvm::Constant *pendingObjects(llvm::Module &M);

/// Creates the hidden function \p Name of the type void(ptr, i64) (PointParts.h).
llvm::Function *hiddenTouch(llvm::Module &M, llvm::StringRef Name);

/// Gives \p Thunk its body: if some object waits, it calls libsmalloc's entry with its arguments.
/// If \p Counts, it passes misses in batches.
void lookAndCall(llvm::Function &Thunk, bool Counts = false);

class PromotionGuardsPass : public llvm::PassInfoMixin<PromotionGuardsPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);
};

} // namespace smalloc
#endif
