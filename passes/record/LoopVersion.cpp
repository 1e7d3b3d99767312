//===- LoopVersion.cpp - a copy of a loop for recordings ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/record/LoopVersion.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace smalloc {

LoopVersion::LoopVersion(Function &F, RecordedLoop &L, Value *Condition) {
  SmallVector<BasicBlock *, 8> Made;
  for (BasicBlock *Block : L.Blocks) {
    Made.push_back(CloneBasicBlock(Block, Map, ".told", &F));
    Map[Block] = Made.back();
    Of.insert(Block);
    Copies.insert(Made.back());
  }
  remapInstructionsInBlocks(Made, Map);
  SmallPtrSet<BasicBlock *, 8> Exits;
  for (BasicBlock *Block : L.Blocks)
    for (BasicBlock *To : successors(Block))
      if (!Of.count(To) && Exits.insert(To).second)
        for (PHINode &Phi : To->phis())
          for (unsigned I = 0, N = Phi.getNumIncomingValues(); I < N; ++I)
            if (Of.count(Phi.getIncomingBlock(I)))
              Phi.addIncoming(at(Phi.getIncomingValue(I)), at(Phi.getIncomingBlock(I)));
  BasicBlock *Copy = at(L.Header);
  Entry = BasicBlock::Create(F.getContext(), "smalloc.version", &F, Copy);
  Copy->replacePhiUsesWith(L.Preheader, Entry);
  IRBuilder<>(Entry).CreateBr(Copy);
  BasicBlock *Else = BasicBlock::Create(F.getContext(), "smalloc.plain", &F, L.Header);
  L.Header->replacePhiUsesWith(L.Preheader, Else);
  IRBuilder<>(Else).CreateBr(L.Header);
  Instruction *Jump = L.Preheader->getTerminator();
  Choice = IRBuilder<>(Jump).CreateCondBr(Condition, Entry, Else);
  Jump->eraseFromParent();
  L.Preheader = Else;
}

void LoopVersion::enterOnlyIf(Value *Condition) {
  Choice->setCondition(IRBuilder<>(Choice).CreateAnd(Choice->getCondition(), Condition));
}

bool LoopVersion::isOutside(const Value *V) const {
  const auto *I = dyn_cast<Instruction>(V);
  return !I || !Copies.count(I->getParent());
}

} // namespace smalloc
