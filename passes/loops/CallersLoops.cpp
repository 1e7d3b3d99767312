//===- CallersLoops.cpp - repetition by a function's callers ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/loops/CallersLoops.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace smalloc {

DenseSet<const Function *> functionsCalledInLoops(Module &M, FunctionAnalysisManager &FAM) {
  DenseSet<const Function *> Result;
  SmallVector<const Function *, 16> Work;
  DenseMap<const Function *, SmallVector<const Function *, 8>> Calls;
  for (Function &F : M) {
    if (F.isDeclaration())
      continue;
    LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
    for (Instruction &I : instructions(F)) {
      auto *Call = dyn_cast<CallBase>(&I);
      if (!Call)
        continue;
      auto *Callee = dyn_cast<Function>(Call->getCalledOperand()->stripPointerCastsAndAliases());
      if (!Callee || Callee->isDeclaration())
        continue;
      Calls[&F].push_back(Callee);
      // Recursion repeats like a loop.
      if ((Callee == &F || LI.getLoopFor(I.getParent())) && Result.insert(Callee).second)
        Work.push_back(Callee);
    }
  }
  while (!Work.empty())
    for (const Function *Callee : Calls.lookup(Work.pop_back_val()))
      if (Result.insert(Callee).second)
        Work.push_back(Callee);
  return Result;
}

/// True if the number that \p Place loads is advanced by a constant where it is read
/// (text[count++]). Successive calls then walk in order.
static bool countsOn(const LoadInst &Place) {
  return any_of(Place.users(), [&](const User *U) {
    auto *Sum = dyn_cast<BinaryOperator>(U);
    return Sum && (Sum->getOpcode() == Instruction::Add || Sum->getOpcode() == Instruction::Sub) &&
           isa<ConstantInt>(Sum->getOperand(1)) && any_of(Sum->users(), [&](const User *Use) {
             auto *Store = dyn_cast<StoreInst>(Use);
             return Store && Store->getValueOperand() == Sum &&
                    Store->getPointerOperand() == Place.getPointerOperand();
           });
  });
}

/// True if \p V, a number of floating point, is computed from an integer.
static bool isScaledInteger(const Value *V, unsigned Depth = 0) {
  constexpr unsigned MaxDepth = 4;
  auto *I = dyn_cast<Instruction>(V);
  if (!I || Depth > MaxDepth || isa<LoadInst>(I))
    return false;
  return isa<SIToFPInst, UIToFPInst>(I) || any_of(I->operands(), [&](const Use &Op) {
           return Op->getType()->isFloatingPointTy() && isScaledInteger(Op, Depth + 1);
         });
}

/// True if \p V, an index, is a number of floating point, rounded, or a sum or product of such. A
/// scaled integer is none: callers may count it up.
static bool isRounded(const Value *V, unsigned Depth = 0) {
  constexpr unsigned MaxDepth = 4;
  while (auto *C = dyn_cast<CastInst>(V)) {
    if (isa<FPToSIInst, FPToUIInst>(C))
      return !isScaledInteger(C->getOperand(0));
    V = C->getOperand(0);
  }
  auto *B = dyn_cast<BinaryOperator>(V);
  return B && Depth < MaxDepth &&
         (B->getOpcode() == Instruction::Add || B->getOpcode() == Instruction::Mul) &&
         (isRounded(B->getOperand(0), Depth + 1) || isRounded(B->getOperand(1), Depth + 1));
}

bool computedIndex(const Value *Pointer, unsigned Depth) {
  if (auto *Load = dyn_cast<LoadInst>(Pointer))
    return Depth <= 6 && computedIndex(Load->getPointerOperand(), Depth + 1);
  const auto *G = dyn_cast<GEPOperator>(Pointer);
  if (!G || Depth > 6)
    return false;
  for (const Use &Index : G->indices()) {
    const Value *V = Index;
    if (isRounded(V))
      return true;
    while (auto *C = dyn_cast<CastInst>(V))
      V = C->getOperand(0);
    if (auto *Load = dyn_cast<LoadInst>(V); Load && !countsOn(*Load))
      return true;
    if (auto *B = dyn_cast<BinaryOperator>(V))
      switch (B->getOpcode()) {
      case Instruction::And:
      case Instruction::URem:
      case Instruction::SRem:
      case Instruction::LShr:
      case Instruction::Xor:
        return true;
      default:
        break;
      }
  }
  return computedIndex(G->getPointerOperand(), Depth + 1);
}

/// True if \p Passed, an argument of a call in the function of \p A, is a pointer loaded through
/// \p A, or through a phi, which may come from \p A.
static bool isLoadedThrough(const Value *Passed, const Argument &A) {
  SmallVector<const Value *, 8> Stack{Passed};
  SmallPtrSet<const Value *, 16> Seen;
  while (!Stack.empty()) {
    const Value *V = Stack.pop_back_val();
    if (!Seen.insert(V).second || Seen.size() > 64)
      continue;
    if (auto *L = dyn_cast<LoadInst>(V)) {
      const Value *Root = getUnderlyingObject(L->getPointerOperand());
      if (Root == &A || isa<PHINode>(Root))
        return true;
    } else if (isa<GetElementPtrInst, PHINode, SelectInst>(V)) {
      for (const Use &Op : cast<Instruction>(V)->operands())
        Stack.push_back(Op);
    }
  }
  return false;
}

SmallPtrSet<const Argument *, 4> chasedArguments(Function &F) {
  SmallPtrSet<const Argument *, 4> Chased;
  for (Instruction &I : instructions(F)) {
    auto *Call = dyn_cast<CallBase>(&I);
    if (!Call || Call->getCalledFunction() != &F)
      continue;
    for (Argument &A : F.args())
      if (A.getType()->isPointerTy() && A.getArgNo() < Call->arg_size() &&
          isLoadedThrough(Call->getArgOperand(A.getArgNo()), A))
        Chased.insert(&A);
  }
  return Chased;
}

} // namespace smalloc
