//===- FreshMemory.cpp - proves that a function gives fresh memory ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Proves for AllocationWrappers that a function is a wrapper: its body can be copied, and each
// pointer that it returns, or that it stores where one of its arguments points, is null or comes
// straight from an allocation.
//===----------------------------------------------------------------------===//
#include "passes/sites/AllocationWrappers.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Most instructions of a wrapper. A wrapper is copied once; a longer one is not worth its bytes.
constexpr unsigned MaxInstructions = 200;

bool isLong(const Function &F) {
  size_t Instructions = 0;
  return any_of(
      F, [&](const BasicBlock &Block) { return (Instructions += Block.size()) > MaxInstructions; });
}

bool bodyCanBeCopied(const Function &F) {
  if (leavesAlone(F) || F.isInterposable() || F.hasFnAttribute(Attribute::ReturnsTwice) ||
      F.callsFunctionThatReturnsTwice() || F.isPresplitCoroutine() || isLong(F))
    return false;
  // A recursive function builds a structure: its own calls are no contexts.
  for (const User *U : F.users())
    if (auto *Call = dyn_cast<CallBase>(U); Call && Call->getFunction() == &F)
      return false;
  for (const BasicBlock &Block : F) {
    if (Block.hasAddressTaken() || isa<IndirectBrInst, CallBrInst>(Block.getTerminator()))
      return false;
    if (Block.getTerminatingMustTailCall())
      return false;
  }
  return true;
}

/// Makes \p W a wrapper only if \p Other, a function of another unit, is one (null: no condition).
/// False if \p W already needs a different function: a record names one condition.
bool needs(AllocationWrapper &W, const Function *Other) {
  if (Other && W.Condition && W.Condition != Other)
    return false;
  if (Other)
    W.Condition = Other;
  return true;
}

} // namespace

/// True if all that \p F returns, or all that it stores where an argument points, is null or fresh.
bool AllocationWrappers::givesOnlyFresh(Function &F, AllocationWrapper &W) {
  if (!bodyCanBeCopied(F) || !canTakeCell(*F.getFunctionType(), F.getAttributes()))
    return false;
  if (!returnsPointer(*F.getFunctionType()))
    return !F.getReturnType()->isPtrOrPtrVectorTy() && handsOut(F, W);
  SmallPtrSet<Value *, 16> Seen;
  for (BasicBlock &Block : F)
    if (auto *Return = dyn_cast<ReturnInst>(Block.getTerminator());
        Return && !isFresh(Return->getReturnValue(), W, Seen))
      return false;
  return true;
}

/// True if \p F stores fresh memory, and nothing else, where one of its arguments points.
bool AllocationWrappers::handsOut(Function &F, AllocationWrapper &W) {
  for (Argument &A : F.args()) {
    AllocationWrapper Tried;
    Tried.F = &F;
    if (!A.getType()->isPointerTy() || !storesOnlyFresh(A, Tried) || Tried.Fresh.empty())
      continue;
    if (W.Out >= 0)
      return false; // two blocks cannot share a cell
    W = std::move(Tried);
    W.Out = static_cast<int>(A.getArgNo());
  }
  return W.Out >= 0;
}

/// True if \p W's function stores only null or fresh memory through \p A, and \p A does not escape.
bool AllocationWrappers::storesOnlyFresh(Argument &A, AllocationWrapper &W) {
  SmallPtrSet<Value *, 16> Seen;
  for (Use &U : A.uses()) {
    auto *I = cast<Instruction>(U.getUser());
    if (isa<LoadInst, ICmpInst>(I))
      continue;
    if (auto *Store = dyn_cast<StoreInst>(I)) {
      if (U.getOperandNo() != StoreInst::getPointerOperandIndex() || Store->isVolatile() ||
          !Store->getValueOperand()->getType()->isPointerTy() ||
          !isFresh(Store->getValueOperand(), W, Seen))
        return false;
      continue;
    }
    if (isa<GetElementPtrInst>(I)) { // the caller's size field beside the pointer
      for (const User *Of : I->users())
        if (auto *Store = dyn_cast<StoreInst>(Of);
            !isa<LoadInst>(Of) && !(Store && Store->getPointerOperand() == I &&
                                    Store->getValueOperand()->getType()->isIntegerTy()))
          return false;
      continue;
    }
    auto *Call = dyn_cast<CallBase>(I);
    Function *Callee = Call && plainCall(*Call) ? calledFunction(*Call) : nullptr;
    if (!Callee || !Call->isArgOperand(&U))
      return false;
    const int At = static_cast<int>(Call->getArgOperandNo(&U));
    const bool Site = Call->hasFnAttr(SiteIdAttr) && At == 0 &&
                      allocationFamily(*Call) == AllocFamily::PosixMemalign;
    if (!Site && !(Call->hasFnAttr(ContextIdAttr) && !Callee->isDeclaration() && analyse(*Callee) &&
                   find(Callee)->Out == At && needs(W, find(Callee)->Condition)))
      return false;
    if (Seen.insert(Call).second)
      W.Fresh.push_back(Call);
  }
  return true;
}

/// True if \p V is null or comes straight from an allocation, whose call it adds to \p W. A value
/// loaded from memory may be old, unless posix_memalign alone has stored it in a local variable.
bool AllocationWrappers::isFresh(Value *V, AllocationWrapper &W, SmallPtrSetImpl<Value *> &Seen) {
  V = V->stripPointerCastsAndAliases();
  if (isa<ConstantPointerNull, UndefValue>(V) || !Seen.insert(V).second)
    return true;
  if (auto *G = dyn_cast<GEPOperator>(V))
    return isFresh(G->getPointerOperand(), W, Seen); // the block behind a header
  if (isa<PHINode, SelectInst>(V)) {
    for (Use &Op : cast<User>(V)->operands())
      if (Op->getType()->isPointerTy() && !isFresh(Op, W, Seen))
        return false;
    return true;
  }
  const TargetLibraryInfo &TLI = FAM.getResult<TargetLibraryAnalysis>(*W.F);
  if (auto *Call = dyn_cast<CallBase>(V)) {
    if (Value *Same = Call->getReturnedArgOperand())
      return isFresh(Same, W, Seen);
    Function *Callee = calledFunction(*Call);
    if (!Callee || !plainCall(*Call))
      return false;
    std::optional<AllocFamily> Family = allocationFamily(*Call);
    if ((Family && Family != AllocFamily::PosixMemalign && Call->hasFnAttr(SiteIdAttr)) ||
        (Call->hasFnAttr(ContextIdAttr) && mayBeWrapperCall(*Call, TLI) &&
         (Callee->isDeclaration() || analyse(*Callee)))) {
      const AllocationWrapper *Inner = Family ? nullptr : find(Callee);
      const bool LooksAlike = !Family && Callee->isDeclaration() && !isDeclaredFresh(*Callee);
      if (!needs(W, LooksAlike ? Callee : Inner ? Inner->Condition : nullptr))
        return false;
      W.Fresh.push_back(Call);
      return true;
    }
    return false;
  }
  // void *p = NULL; if (posix_memalign(&p, ...)) ...; return p;
  if (auto *Load = dyn_cast<LoadInst>(V))
    if (auto *Slot = dyn_cast<AllocaInst>(Load->getPointerOperand())) {
      CallBase *Filler = nullptr;
      for (const Use &U : Slot->uses()) {
        auto *Call = dyn_cast<CallBase>(U.getUser());
        if (isa<LoadInst>(U.getUser()) || (Call && cast<Instruction>(Call)->isLifetimeStartOrEnd()))
          continue;
        if (auto *Store = dyn_cast<StoreInst>(U.getUser());
            Store && isa<ConstantPointerNull>(Store->getValueOperand()))
          continue;
        if (Filler || !Call || !plainCall(*Call) || !Call->hasFnAttr(SiteIdAttr) ||
            allocationFamily(*Call) != AllocFamily::PosixMemalign || Call->getArgOperandNo(&U) != 0)
          return false;
        Filler = Call;
      }
      if (!Filler)
        return false;
      if (Seen.insert(Filler).second)
        W.Fresh.push_back(Filler);
      return true;
    }
  return false;
}

} // namespace smalloc
