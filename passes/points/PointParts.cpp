//===- PointParts.cpp - shared parts of promotion and fill points ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/points/PointParts.h"
#include "passes/ir/LlvmVersions.h"
#include "passes/rewrite/ThunkParts.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace smalloc {

Function *hiddenPoint(Module &M, StringRef Name, FunctionType *Type) {
  Function *F = Function::createWithDefaultAttr(Type, GlobalValue::LinkOnceODRLinkage, 0, "", &M);
  // ThinLTO drops the body of a thunk if the copy in another unit prevails. The body is unused
  // then.
  if (Function *Known = M.getFunction(Name))
    Known->replaceAllUsesWith(F), Known->eraseFromParent();
  F->setName(Name);
  makeHiddenComdat(M, F);
  F->setDoesNotThrow();
  F->setUWTableKind(UWTableKind::Default);
  return F;
}

CallingConv::ID keepsRegisters(const Module &M) {
  const Triple T = targetTriple(M);
  return T.getArch() == Triple::x86_64 || T.isAArch64() ? CallingConv::PreserveMost
                                                        : CallingConv::C;
}

void sink(Value *V, Instruction *Before, BasicBlock &From) {
  SmallVector<Value *, 8> Wanted = {V};
  while (!Wanted.empty()) {
    auto *I = dyn_cast<Instruction>(Wanted.pop_back_val());
    if (!I || I->getParent() != &From || !I->hasOneUse() || isa<PHINode>(I) || I->isEHPad() ||
        I->mayReadOrWriteMemory() || I->mayHaveSideEffects())
      continue;
    I->moveBefore(*Before->getParent(), Before->getIterator());
    Before = I;
    append_range(Wanted, I->operands());
  }
}

void leaveToGuards(Function &Thunk) {
  Thunk.setComdat(nullptr);
  Thunk.setLinkage(GlobalValue::ExternalLinkage);
}

} // namespace smalloc
