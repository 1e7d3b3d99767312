//===- MemoryTouches.cpp - what one instruction reads and writes ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "MemoryTouches.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace smalloc {

/// Step of a copy whose length is known at run time only: a line.
static constexpr uint64_t CopyStepBytes = 64;

SmallVector<Touch, 2> touchesOf(Instruction &I) {
  const DataLayout &DL = I.getDataLayout();
  auto SizeOf = [&](Type *T) { return DL.getTypeStoreSize(T).getKnownMinValue(); };
  if (auto *L = dyn_cast<LoadInst>(&I))
    return {{L->getPointerOperand(), SizeOf(L->getType()), false}};
  if (auto *S = dyn_cast<StoreInst>(&I))
    return {{S->getPointerOperand(), SizeOf(S->getValueOperand()->getType()), true}};
  if (auto *X = dyn_cast<AtomicRMWInst>(&I))
    return {{X->getPointerOperand(), SizeOf(X->getValOperand()->getType()), true}};
  if (auto *X = dyn_cast<AtomicCmpXchgInst>(&I))
    return {{X->getPointerOperand(), SizeOf(X->getNewValOperand()->getType()), false}};
  auto *Call = dyn_cast<IntrinsicInst>(&I);
  if (!Call)
    return {};
  if (auto *Fill = dyn_cast<AnyMemIntrinsic>(Call)) {
    auto *Length = dyn_cast<ConstantInt>(Fill->getLength());
    uint64_t Bytes = Length ? Length->getLimitedValue(4096) : CopyStepBytes;
    SmallVector<Touch, 2> Touches{{Fill->getRawDest(), Bytes,
                                   Length && Length->getLimitedValue() == Bytes,
                                   /*Gathers=*/false, /*Walks=*/!Length}};
    if (auto *Copy = dyn_cast<AnyMemTransferInst>(Fill))
      Touches.push_back({Copy->getRawSource(), Bytes, false, /*Gathers=*/false, /*Walks=*/!Length});
    return Touches;
  }
  // Masked loads and stores, gathers and scatters, generic ones and the target's own.
  StringRef Name = Call->getCalledFunction()->getName();
  const bool Gathers = Name.contains("gather") || Name.contains("scatter");
  if (!Gathers && Call->getIntrinsicID() != Intrinsic::masked_load &&
      Call->getIntrinsicID() != Intrinsic::masked_store)
    return {};
  for (Value *Operand : Call->args()) {
    if (!Operand->getType()->isPtrOrPtrVectorTy() || isa<Constant>(Operand))
      continue;
    // A vector of addresses made from one base is that base's object.
    if (auto *G = dyn_cast<GetElementPtrInst>(Operand);
        G && !G->getPointerOperandType()->isVectorTy())
      Operand = G->getPointerOperand();
    return {{Operand, 8, false, Gathers}};
  }
  return {};
}

} // namespace smalloc
