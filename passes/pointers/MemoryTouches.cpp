//===- MemoryTouches.cpp - the memory that an instruction accesses ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/pointers/MemoryTouches.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace smalloc {

/// Step of a copy or fill whose length is known only at run time: a cache line.
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
  // Generic masked loads and stores, and gathers and scatters, also the target's own.
  StringRef Name = Call->getCalledFunction()->getName();
  const bool Gathers = Name.contains("gather") || Name.contains("scatter");
  if (!Gathers && Call->getIntrinsicID() != Intrinsic::masked_load &&
      Call->getIntrinsicID() != Intrinsic::masked_store)
    return {};
  for (Value *Operand : Call->args()) {
    if (!Operand->getType()->isPtrOrPtrVectorTy() || isa<Constant>(Operand))
      continue;
    // A vector of addresses computed from one base counts as an access to the base's object.
    if (auto *G = dyn_cast<GetElementPtrInst>(Operand);
        G && !G->getPointerOperandType()->isVectorTy())
      Operand = G->getPointerOperand();
    return {{Operand, 8, false, Gathers}};
  }
  return {};
}

/// An input function: the argument indices of the buffer, the bytes and the count of records. Count
/// -1: it has no count.
struct InputRow {
  StringRef Name;
  unsigned Arguments, To, Bytes;
  int Count;
};
static constexpr InputRow Inputs[] = {
    {"read", 3, 1, 2, -1},    {"__read_chk", 4, 1, 2, -1},  {"pread", 4, 1, 2, -1},
    {"pread64", 4, 1, 2, -1}, {"__pread_chk", 5, 1, 2, -1}, {"__pread64_chk", 5, 1, 2, -1},
    {"recv", 4, 1, 2, -1},    {"__recv_chk", 5, 1, 2, -1},  {"recvfrom", 6, 1, 2, -1},
    {"fread", 4, 0, 1, 2},    {"__fread_chk", 5, 0, 2, 3},  {"fread_unlocked", 4, 0, 1, 2},
};

Fill fillOf(CallBase &Call) {
  if (auto *Known = dyn_cast<AnyMemIntrinsic>(&Call))
    return {&Call, Known->getRawDest(), Known->getLength()};
  const Function *Callee = Call.getCalledFunction();
  if (!Callee || Callee->isIntrinsic() || !Callee->isDeclarationForLinker() || Call.isNoBuiltin())
    return {};
  for (const InputRow &Row : Inputs)
    if (Call.arg_size() == Row.Arguments && Callee->getName() == Row.Name &&
        Call.getArgOperand(Row.To)->getType()->isPointerTy() &&
        Call.getArgOperand(Row.Bytes)->getType()->isIntegerTy(64))
      return {&Call, Call.getArgOperand(Row.To), Call.getArgOperand(Row.Bytes),
              Row.Count < 0 ? nullptr : Call.getArgOperand(static_cast<unsigned>(Row.Count))};
  return {};
}

} // namespace smalloc
