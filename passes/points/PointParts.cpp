//===- PointParts.cpp - shared parts of promotion and fill points ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/points/PointParts.h"
#include "passes/ir/LlvmVersions.h"
#include "passes/rewrite/ThunkParts.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace smalloc {

void forgetEvolution(Function &F, FunctionAnalysisManager &FAM) {
  PreservedAnalyses Rest = PreservedAnalyses::all();
  Rest.abandon<ScalarEvolutionAnalysis>();
  FAM.invalidate(F, Rest);
}

CallingConv::ID keepsRegisters(const Module &M) {
  const Triple T = targetTriple(M);
  return T.getArch() == Triple::x86_64 || T.isAArch64() ? CallingConv::PreserveMost
                                                        : CallingConv::C;
}

void sinkInto(BasicBlock &Cold, BasicBlock &From) {
  bool Writes = false; // some instruction behind this one may write memory
  for (Instruction &I : make_early_inc_range(reverse(From))) {
    const auto *Load = dyn_cast<LoadInst>(&I);
    const bool Stays = I.use_empty() || I.isTerminator() || I.isEHPad() || I.mayHaveSideEffects() ||
                       isa<PHINode, AllocaInst>(I) || I.getType()->isTokenTy() ||
                       (I.mayReadFromMemory() && (Writes || !Load || !Load->isSimple()));
    if (!Stays && all_of(I.users(),
                         [&](const User *U) { return cast<Instruction>(U)->getParent() == &Cold; }))
      I.moveBefore(Cold, Cold.getFirstInsertionPt());
    else
      Writes |= I.mayWriteToMemory();
  }
}

void leaveToGuards(Function &Thunk) {
  Thunk.setComdat(nullptr);
  Thunk.setLinkage(GlobalValue::ExternalLinkage);
}

} // namespace smalloc
