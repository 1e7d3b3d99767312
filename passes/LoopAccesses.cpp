//===- LoopAccesses.cpp - how loops walk memory -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "LoopAccesses.h"
#include "AllocationSites.h"
#include "MemoryTouches.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace smalloc {
namespace {

constexpr unsigned MaxDepth = 24; ///< of expressions looked through
constexpr int64_t MaxWalkingStep =
    4096; ///< of an index taken modulo something: beyond it is a hash

LoopLevel level(Motion Kind, int64_t Stride = 0) {
  LoopLevel R;
  R.Kind = Kind;
  R.StrideBytes = Kind == Motion::Constant ? Stride : 0;
  if (Kind == Motion::Constant && Stride == 0)
    R.Kind = Motion::None;
  return R;
}

/// Motion of a sum of two parts.
LoopLevel sum(const LoopLevel &A, const LoopLevel &B) {
  if (isUnpredictable(A.Kind) || isUnpredictable(B.Kind))
    return level(std::max(isUnpredictable(A.Kind) ? A.Kind : Motion::None,
                          isUnpredictable(B.Kind) ? B.Kind : Motion::None));
  if (A.Kind == Motion::None)
    return B;
  if (B.Kind == Motion::None)
    return A;
  if (A.Kind == Motion::Constant && B.Kind == Motion::Constant)
    return level(Motion::Constant, A.StrideBytes + B.StrideBytes);
  return level(Motion::Symbolic);
}

/// Does the pointer held by header phi \p Phi of \p L get its next value from a load through itself?
bool chasesItself(const PHINode *Phi, const Loop *L) {
  if (!Phi->getType()->isPointerTy() && !Phi->getType()->isIntegerTy())
    return false;
  SmallVector<std::pair<const Value *, bool>, 16> Stack; // value, seen a load on the way
  SmallPtrSet<const Value *, 32> Seen[2];
  for (unsigned I = 0; I < Phi->getNumIncomingValues(); ++I)
    if (L->contains(Phi->getIncomingBlock(I)))
      Stack.push_back({Phi->getIncomingValue(I), false});
  for (unsigned Steps = 0; !Stack.empty() && Steps < 200; ++Steps) {
    auto [V, Loaded] = Stack.pop_back_val();
    if (V == Phi) {
      if (Loaded)
        return true;
      continue;
    }
    const auto *I = dyn_cast<Instruction>(V);
    if (!I || !L->contains(I) || !Seen[Loaded].insert(V).second)
      continue;
    if (auto *Load = dyn_cast<LoadInst>(I)) {
      Stack.push_back({Load->getPointerOperand(), true});
    } else if (isa<GetElementPtrInst, PHINode, SelectInst, CastInst, FreezeInst, BinaryOperator>(
                   I)) {
      for (const Use &Op : I->operands())
        Stack.push_back({Op, Loaded});
    }
  }
  return false;
}

/// Step of a cursor that header phi \p Phi of \p L holds and that now and then moves into a new block: appending to
/// a growing vector. Every way round the loop adds a constant to the cursor, leaves it, or starts from an allocation.
std::optional<int64_t> appendStep(const PHINode *Phi, const Loop *L, const DataLayout &DL) {
  if (!Phi->getType()->isPointerTy())
    return std::nullopt;
  SmallVector<std::pair<const Value *, int64_t>, 16> Stack;
  SmallPtrSet<const Value *, 32> Seen;
  std::optional<int64_t> Step;
  bool Allocates = false;
  for (unsigned I = 0; I < Phi->getNumIncomingValues(); ++I)
    if (L->contains(Phi->getIncomingBlock(I)))
      Stack.push_back({Phi->getIncomingValue(I), 0});
  while (!Stack.empty()) {
    auto [V, Offset] = Stack.pop_back_val();
    if (V == Phi) {
      if (Offset != 0 && (!Step || std::abs(Offset) > std::abs(*Step)))
        Step = Offset;
      continue;
    }
    if (!Seen.insert(V).second)
      continue;
    if (Seen.size() > 100)
      return std::nullopt;
    if (auto *Call = dyn_cast<CallBase>(V); Call && Call->hasFnAttr(SiteIdAttr)) {
      Allocates = true;
    } else if (auto *G = dyn_cast<GetElementPtrInst>(V); G && L->contains(G)) {
      APInt By(DL.getIndexTypeSizeInBits(G->getType()), 0);
      bool Constant = G->accumulateConstantOffset(DL, By);
      if (!Constant && getUnderlyingObject(G) == Phi)
        return std::nullopt;
      Stack.push_back({G->getPointerOperand(), Constant ? Offset + By.getSExtValue() : Offset});
    } else if (isa<PHINode, SelectInst>(V) && L->contains(cast<Instruction>(V))) {
      for (const Use &Op : cast<Instruction>(V)->operands())
        if (Op->getType()->isPointerTy())
          Stack.push_back({Op, Offset});
    } else if (!isa<ConstantPointerNull>(V)) {
      return std::nullopt;
    }
  }
  if (!Allocates)
    return std::nullopt;
  return Step.value_or(0); // the block's start itself: it only moves when the block does
}

class MotionQuery {
public:
  MotionQuery(const Loop *L, ScalarEvolution &SE) : L(L), SE(SE) {}

  LoopLevel of(const SCEV *S, unsigned Depth = 0) {
    if (Depth > MaxDepth)
      return level(Motion::Irregular);
    if (auto It = Known.find(S); It != Known.end())
      return It->second;
    // Loads are looked through: guard against an address that depends on itself.
    Known[S] = level(Motion::Irregular);
    LoopLevel R = compute(S, Depth);
    Known[S] = R;
    return R;
  }

private:
  /// Does a walk by \p L's stride come round in integers of type \p T within a few iterations?
  bool wraps(const LoopLevel &L, Type *T) const {
    if (L.Kind != Motion::Constant || !T->isIntegerTy() || T->getIntegerBitWidth() > 48)
      return false;
    unsigned Bits = T->getIntegerBitWidth();
    return Bits < 5 || std::abs(L.StrideBytes) >= int64_t(1) << (Bits - 4);
  }

  /// The quotient in a product that has a moving one.
  const SCEVUDivExpr *movingQuotient(const SCEV *S) {
    while (auto *Cast = dyn_cast<SCEVCastExpr>(S))
      S = Cast->getOperand();
    auto *Mul = dyn_cast<SCEVMulExpr>(S);
    if (!Mul)
      return nullptr;
    for (const SCEV *Op : Mul->operands()) {
      while (auto *Cast = dyn_cast<SCEVCastExpr>(Op))
        Op = Cast->getOperand();
      if (auto *D = dyn_cast<SCEVUDivExpr>(Op);
          D && of(D->getLHS(), MaxDepth / 2).Kind != Motion::None)
        return D;
    }
    return nullptr;
  }

  LoopLevel compute(const SCEV *S, unsigned Depth) {
    if (auto *Cast = dyn_cast<SCEVCastExpr>(S)) {
      LoopLevel Inside = of(Cast->getOperand(), Depth + 1);
      // Cut to a few bits, a recurrence of long steps is a hash.
      return isa<SCEVTruncateExpr>(S) && wraps(Inside, S->getType()) ? level(Motion::Irregular)
                                                                     : Inside;
    }
    switch (S->getSCEVType()) {
    case scConstant:
    case scVScale:
      return level(Motion::None);
    case scAddExpr: {
      LoopLevel Total = level(Motion::None);
      for (const SCEV *Op : cast<SCEVNAryExpr>(S)->operands())
        Total = sum(Total, of(Op, Depth + 1));
      // x % n is x - x / n * n: x walks through n again and again, or, by long steps, hashes into it.
      for (const SCEV *Op : cast<SCEVNAryExpr>(S)->operands())
        if (const SCEVUDivExpr *Quotient = movingQuotient(Op);
            Quotient && !isUnpredictable(Total.Kind)) {
          LoopLevel Dividend = of(Quotient->getLHS(), Depth + 1);
          bool Short =
              Dividend.Kind == Motion::Constant && std::abs(Dividend.StrideBytes) <= MaxWalkingStep;
          return Short ? Dividend : level(Motion::Irregular);
        }
      return Total;
    }
    case scMulExpr: {
      int64_t Factor = 1;
      bool Symbol = false;
      LoopLevel Moving = level(Motion::None);
      for (const SCEV *Op : cast<SCEVNAryExpr>(S)->operands()) {
        if (auto *C = dyn_cast<SCEVConstant>(Op)) {
          if (C->getAPInt().getSignificantBits() > 63)
            return level(Motion::Irregular);
          Factor *= C->getAPInt().getSExtValue();
          continue;
        }
        LoopLevel M = of(Op, Depth + 1);
        if (isUnpredictable(M.Kind))
          return M;
        if (M.Kind == Motion::None) {
          Symbol = true;
          continue;
        }
        if (Moving.Kind != Motion::None)
          return level(Motion::Irregular); // a product of two recurrences
        Moving = M;
      }
      if (Moving.Kind == Motion::None)
        return level(Motion::None);
      if (Symbol || Moving.Kind == Motion::Symbolic)
        return level(Motion::Symbolic);
      return level(Motion::Constant, Moving.StrideBytes * Factor);
    }
    case scUDivExpr: {
      auto *D = cast<SCEVUDivExpr>(S);
      LoopLevel N = of(D->getLHS(), Depth + 1);
      if (of(D->getRHS(), Depth + 1).Kind != Motion::None)
        return level(Motion::Irregular);
      if (N.Kind != Motion::Constant)
        return N;
      auto *C = dyn_cast<SCEVConstant>(D->getRHS());
      if (!C || C->getAPInt().getSignificantBits() > 63 || C->isZero())
        return level(Motion::Symbolic);
      int64_t Stride = N.StrideBytes / C->getAPInt().getSExtValue();
      return level(Motion::Constant, Stride ? Stride : 1); // slower than one unit an iteration
    }
    case scAddRecExpr: {
      auto *R = cast<SCEVAddRecExpr>(S);
      if (R->getLoop() == L) {
        if (!R->isAffine())
          return level(Motion::Symbolic);
        LoopLevel Start = of(R->getStart(), Depth + 1);
        if (isUnpredictable(Start.Kind))
          return Start;
        if (auto *C = dyn_cast<SCEVConstant>(R->getStepRecurrence(SE));
            C && C->getAPInt().getSignificantBits() <= 63) {
          LoopLevel Walk = level(Motion::Constant, C->getAPInt().getSExtValue());
          return wraps(Walk, S->getType()) ? level(Motion::Irregular) : Walk;
        }
        LoopLevel Step = of(R->getStepRecurrence(SE), Depth + 1);
        return isUnpredictable(Step.Kind) ? Step : level(Motion::Symbolic);
      }
      if (L->contains(
              R->getLoop())) // moves with an inner loop: what moves with L is where it starts
        return of(R->getStart(), Depth + 1);
      return level(Motion::None);
    }
    case scUMaxExpr:
    case scSMaxExpr:
    case scUMinExpr:
    case scSMinExpr:
    case scSequentialUMinExpr: {
      LoopLevel Total = level(Motion::None);
      for (const SCEV *Op : cast<SCEVNAryExpr>(S)->operands()) {
        LoopLevel M = of(Op, Depth + 1);
        if (isUnpredictable(M.Kind))
          return M;
        if (M.Kind != Motion::None)
          Total = Total.Kind == Motion::None ? M : level(Motion::Symbolic);
      }
      return Total;
    }
    case scUnknown:
      return ofValue(cast<SCEVUnknown>(S)->getValue(), Depth);
    default:
      return level(Motion::Irregular);
    }
  }

  LoopLevel ofValue(Value *V, unsigned Depth) {
    auto *I = dyn_cast<Instruction>(V);
    if (!I || !L->contains(I))
      return level(Motion::None);
    if (auto *Load = dyn_cast<LoadInst>(I)) {
      LoopLevel Address = of(SE.getSCEV(Load->getPointerOperand()), Depth + 1);
      if (Address.Kind == Motion::None || Address.Kind == Motion::Chase)
        return Address;
      return level(Motion::Gather);
    }
    // A fresh block each iteration: allocators hand them out one after the other.
    if (auto *Call = dyn_cast<CallBase>(I); Call && Call->hasFnAttr(SiteIdAttr))
      return level(Motion::Constant, 64);
    if (auto *Phi = dyn_cast<PHINode>(I)) {
      if (Phi->getParent() == L->getHeader())
        if (std::optional<int64_t> Step = appendStep(Phi, L, SE.getDataLayout()))
          return level(Motion::Constant, *Step);
      if (Phi->getParent() == L->getHeader())
        return level(chasesItself(Phi, L) ? Motion::Chase : Motion::Irregular);
      // A merge, or the header phi of an inner loop: the worst of what flows in from where it does not depend on itself.
      LoopLevel Worst = level(Motion::None);
      for (Value *In : Phi->incoming_values()) {
        if (In == Phi || !SE.isSCEVable(In->getType()))
          continue;
        LoopLevel M = of(SE.getSCEV(In), Depth + 1);
        if (M.Kind > Worst.Kind ||
            (M.Kind == Worst.Kind && std::abs(M.StrideBytes) > std::abs(Worst.StrideBytes)))
          Worst = M;
      }
      return Worst;
    }
    if (isa<SelectInst, FreezeInst, CastInst, BinaryOperator, GetElementPtrInst>(I) &&
        Depth < MaxDepth) {
      LoopLevel Worst = level(Motion::None);
      bool Moves = false;
      for (Value *Op : I->operands()) {
        if (!SE.isSCEVable(Op->getType()) || (isa<SelectInst>(I) && Op == I->getOperand(0)))
          continue;
        LoopLevel M = of(SE.getSCEV(Op), Depth + 1);
        Moves |= M.Kind != Motion::None;
        if (M.Kind > Worst.Kind)
          Worst = M;
      }
      if (!Moves)
        return level(Motion::None);
      if (isa<SelectInst, FreezeInst>(I) || isUnpredictable(Worst.Kind))
        return Worst;
      return level(Motion::Irregular); // xor, remainder, shift of a recurrence: a hash
    }
    return level(Motion::Irregular);
  }

  const Loop *L;
  ScalarEvolution &SE;
  DenseMap<const SCEV *, LoopLevel> Known;
};

/// Iterations of \p L: constant, estimated from profile, or symbolic, also where overflow is not excluded: the exit
/// compares a recurrence with an invariant.
void setTrip(LoopLevel &Level, const Loop *L, ScalarEvolution &SE) {
  const SCEV *Count = SE.getBackedgeTakenCount(L);
  if (isa<SCEVCouldNotCompute>(Count))
    Count = SE.getSymbolicMaxBackedgeTakenCount(L);
  if (auto *C = dyn_cast<SCEVConstant>(Count)) {
    Level.Trip = C->getAPInt().getLimitedValue(UINT64_MAX - 1) + 1;
    return;
  }
  if (auto Estimated = getLoopEstimatedTripCount(const_cast<Loop *>(L)); Estimated && *Estimated)
    Level.Trip = *Estimated;
  if (!isa<SCEVCouldNotCompute>(Count)) {
    Level.TripScev = Count;
    return;
  }
  SmallVector<BasicBlock *, 4> Exiting;
  L->getExitingBlocks(Exiting);
  for (BasicBlock *B : Exiting) {
    auto *Branch = dyn_cast<BranchInst>(B->getTerminator());
    auto *Compare =
        Branch && Branch->isConditional() ? dyn_cast<ICmpInst>(Branch->getCondition()) : nullptr;
    if (!Compare || !SE.isSCEVable(Compare->getOperand(0)->getType()))
      continue;
    for (unsigned Side = 0; Side < 2; ++Side) {
      const SCEV *Moving = SE.getSCEV(Compare->getOperand(Side)),
                 *Bound = SE.getSCEV(Compare->getOperand(1 - Side));
      Motion Kind = motionOf(Moving, L, SE).Kind;
      if ((Kind == Motion::Constant || Kind == Motion::Symbolic) &&
          motionOf(Bound, L, SE).Kind == Motion::None && !isa<SCEVConstant>(Bound)) {
        Level.TripScev = Bound;
        return;
      }
    }
  }
}

/// A place that is counted on by a constant where it is read (text[count++]): the calls walk it in order.
bool countsOn(const LoadInst &Place) {
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

/// The unpredictable part of an address outside of any loop: an index that is computed or loaded, not a plain
/// argument (its caller may well walk it in order).
bool computedIndex(const Value *Pointer, unsigned Depth = 0) {
  const auto *G = dyn_cast<GEPOperator>(Pointer);
  if (!G || Depth > 6)
    return false;
  for (const Use &Index : G->indices()) {
    const Value *V = Index;
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

/// Arguments of a self-recursive function that its calls replace by something loaded through them.
SmallPtrSet<const Argument *, 4> chasedArguments(Function &F) {
  SmallPtrSet<const Argument *, 4> Chased;
  for (Instruction &I : instructions(F)) {
    auto *Call = dyn_cast<CallBase>(&I);
    if (!Call || Call->getCalledFunction() != &F)
      continue;
    for (Argument &A : F.args()) {
      if (!A.getType()->isPointerTy() || A.getArgNo() >= Call->arg_size())
        continue;
      SmallVector<const Value *, 8> Stack{Call->getArgOperand(A.getArgNo())};
      SmallPtrSet<const Value *, 16> Seen;
      bool Loaded = false;
      while (!Stack.empty()) {
        const Value *V = Stack.pop_back_val();
        if (!Seen.insert(V).second || Seen.size() > 64)
          continue;
        if (auto *L = dyn_cast<LoadInst>(V)) {
          const Value *Root = getUnderlyingObject(L->getPointerOperand());
          if (Root == &A || isa<PHINode>(Root))
            Loaded = true;
        } else if (isa<GetElementPtrInst, PHINode, SelectInst>(V)) {
          for (const Use &Op : cast<Instruction>(V)->operands())
            Stack.push_back(Op);
        }
      }
      if (Loaded)
        Chased.insert(&A);
    }
  }
  return Chased;
}

} // namespace

const LoopLevel *LoopReference::varying() const {
  for (const LoopLevel &L : Levels)
    if (L.Kind != Motion::None)
      return &L;
  return nullptr;
}

LoopLevel motionOf(const SCEV *S, const Loop *L, ScalarEvolution &SE) {
  return MotionQuery(L, SE).of(S);
}

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
      // A function that calls itself runs as often as a loop.
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

std::vector<LoopReference> loopReferences(Function &F, FunctionAnalysisManager &FAM,
                                          bool CalledInLoop, uint64_t PageBytes) {
  std::vector<LoopReference> References;
  LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
  ScalarEvolution &SE = FAM.getResult<ScalarEvolutionAnalysis>(F);
  SmallPtrSet<const Argument *, 4> Chased = chasedArguments(F);
  DenseMap<const Loop *, LoopLevel> Trips;
  DenseMap<const Loop *, std::unique_ptr<MotionQuery>> Queries;
  struct Window {
    const Loop *Inner;
    const SCEV *Address;
  };
  SmallVector<Window, 32> Windows;
  for (Instruction &I : instructions(F))
    for (const Touch &T : touchesOf(I)) {
      Value *Pointer = T.Pointer;
      if (isa<AllocaInst>(getUnderlyingObject(Pointer)) ||
          Pointer->getType()->getScalarType()->getPointerAddressSpace() != 0)
        continue;
      LoopReference R;
      R.Access = &I;
      R.Pointer = Pointer;
      R.Bytes = T.Bytes;
      R.Writes = T.Writes;
      const Loop *Inner = LI.getLoopFor(I.getParent());
      const SCEV *Address = SE.isSCEVable(Pointer->getType()) ? SE.getSCEV(Pointer) : nullptr;
      if (!Address && !T.Gathers)
        continue;
      if (T.Gathers) { // a vector of addresses: the innermost loop picks, whatever the base does
        for (const Loop *L = Inner; L; L = L->getParentLoop()) {
          auto [Trip, New] = Trips.try_emplace(L);
          if (New)
            setTrip(Trip->second, L, SE);
          LoopLevel Level = Trip->second;
          Level.L = L;
          Level.Kind = L == Inner ? Motion::Gather : Motion::None;
          R.Levels.push_back(Level);
          R.Outermost = L;
        }
        if (!R.Levels.empty())
          References.push_back(std::move(R));
        continue;
      }
      if (auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(Address)); Base && Inner)
        if (auto *Load = dyn_cast<LoadInst>(Base->getValue()))
          R.ThroughPointers = Inner->contains(Load);
      if (Inner) {
        bool Repeated = any_of(Windows, [&](const Window &W) {
          if (W.Inner != Inner)
            return false;
          if (W.Address == Address)
            return true;
          auto *C = dyn_cast<SCEVConstant>(SE.getMinusSCEV(Address, W.Address));
          return C && C->getAPInt().abs().ult(PageBytes);
        });
        if (Repeated && !R.Writes)
          continue;
        R.Repeated = Repeated;
        Windows.push_back({Inner, Address});
      }
      for (const Loop *L = Inner; L; L = L->getParentLoop()) {
        auto &Query = Queries[L];
        if (!Query)
          Query = std::make_unique<MotionQuery>(L, SE);
        LoopLevel Level = Query->of(Address);
        // Somewhere in a block that this very iteration allocated: fresh blocks follow on each other.
        if (auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(Address));
            Base && isUnpredictable(Level.Kind))
          if (auto *Call = dyn_cast<CallBase>(Base->getValue());
              Call && Call->hasFnAttr(SiteIdAttr) && L->contains(Call))
            Level = level(Motion::Constant, 64);
        // An index loaded through itself within one array is a gather: the object stays the same.
        if (Level.Kind == Motion::Chase && SE.isLoopInvariant(SE.getPointerBase(Address), L))
          Level.Kind = Motion::Gather;
        auto [Trip, New] = Trips.try_emplace(L);
        if (New)
          setTrip(Trip->second, L, SE);
        Level.L = L;
        Level.Trip = Trip->second.Trip;
        Level.TripScev = Trip->second.TripScev;
        R.Levels.push_back(Level);
        R.Outermost = L;
      }
      const Value *Root = getUnderlyingObject(Pointer);
      LoopLevel Around; // recursion, or a loop of a caller
      if (auto *A = dyn_cast<Argument>(Root); A && Chased.contains(A)) {
        Around.Kind = Motion::Chase;
        R.Levels.push_back(Around);
      } else if (!Inner && computedIndex(Pointer)) {
        Around.Kind = Motion::Irregular;
        R.Assumed = !CalledInLoop;
        R.Levels.push_back(Around);
      } else if (CalledInLoop && !R.Levels.empty()) {
        R.Levels.push_back(Around);
      }
      if (!R.Levels.empty())
        References.push_back(std::move(R));
    }
  return References;
}

} // namespace smalloc
