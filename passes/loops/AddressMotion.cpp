//===- AddressMotion.cpp - how an address moves with a loop -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/loops/AddressMotion.h"
#include "passes/loops/CursorSteps.h"
#include "passes/loops/LoopWrites.h"
#include "passes/sites/AllocationSites.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"
#include <utility>

using namespace llvm;

namespace smalloc {
namespace {

constexpr unsigned MaxDepth = MaxMotionDepth;
/// Longest step of an index taken modulo a number; an index with a longer step counts as a hash.
constexpr int64_t MaxWalkingStep = 4096;

constexpr int64_t LeastShift = 512; ///< least shift from one round to the next: a page of doubles

} // namespace

LoopLevel motionLevel(Motion Kind, int64_t Stride) {
  LoopLevel R;
  R.Kind = Kind;
  R.StrideBytes = Kind == Motion::Constant ? Stride : 0;
  if (Kind == Motion::Constant && Stride == 0)
    R.Kind = Motion::None;
  return R;
}

LoopLevel motionSum(const LoopLevel &A, const LoopLevel &B) {
  if (isUnpredictable(A.Kind) || isUnpredictable(B.Kind))
    return motionLevel(std::max(isUnpredictable(A.Kind) ? A.Kind : Motion::None,
                                isUnpredictable(B.Kind) ? B.Kind : Motion::None));
  if (A.Kind == Motion::None)
    return B;
  if (B.Kind == Motion::None)
    return A;
  if (A.Kind == Motion::Constant && B.Kind == Motion::Constant)
    return motionLevel(Motion::Constant, A.StrideBytes + B.StrideBytes);
  return motionLevel(Motion::Symbolic);
}

LoopLevel MotionQuery::of(const SCEV *S, unsigned Depth) {
  Unsettled += Depth >= MaxDepth;
  if (Depth > MaxDepth)
    return motionLevel(Motion::Irregular);
  if (!IsAsked)
    if (auto It = Asked.find(S); It != Asked.end())
      return It->second;
  // Marks S as irregular first, since compute() follows loads and an address may depend on itself.
  auto [It, New] = Known.try_emplace(S, Answer{motionLevel(Motion::Irregular)});
  if (!New) {
    Unsettled += !It->second.Settled;
    return It->second.Level;
  }
  const bool First = !std::exchange(IsAsked, true);
  const unsigned Before = Unsettled;
  const LoopLevel R = compute(S, Depth);
  Known[S] = {R, Unsettled == Before};
  if (Unsettled != Before)
    Passing.push_back(S);
  if (!First)
    return R;
  IsAsked = false;
  if (Unsettled != Before)
    Asked[S] = R;
  for (const SCEV *Part : Passing)
    Known.erase(Part);
  for (const Value *Part : PassingFloats)
    KnownFloats.erase(Part);
  Passing.clear();
  PassingFloats.clear();
  return R;
}

/// True if a walk by \p L's stride wraps around in integers of type \p T within a few iterations.
/// Also true for long steps in a width that no language type has (made by a mask), if each round
/// touches other places. A walk that returns to its pages in each round does not wrap in this
/// sense.
bool MotionQuery::wraps(const LoopLevel &L, Type *T) const {
  if (L.Kind != Motion::Constant || !T->isIntegerTy() || T->getIntegerBitWidth() > 48)
    return false;
  const unsigned Bits = T->getIntegerBitWidth();
  const int64_t Round = int64_t(1) << Bits, Step = std::abs(L.StrideBytes);
  if (Bits < 5 || Step >= Round / 16)
    return true;
  return !isPowerOf2_32(Bits) && Step > MaxWalkingStep &&
         std::min(Round % Step, Step - Round % Step) >= LeastShift;
}

/// Returns the moving quotient in \p S, a product; null if it has none.
const SCEVUDivExpr *MotionQuery::movingQuotient(const SCEV *S) {
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

LoopLevel MotionQuery::compute(const SCEV *S, unsigned Depth) {
  if (auto *Cast = dyn_cast<SCEVCastExpr>(S)) {
    LoopLevel Inside = of(Cast->getOperand(), Depth + 1);
    // A recurrence with long steps, truncated to a few bits, is a hash.
    return isa<SCEVTruncateExpr>(S) && wraps(Inside, S->getType()) ? motionLevel(Motion::Irregular)
                                                                   : Inside;
  }
  switch (S->getSCEVType()) {
  case scConstant:
  case scVScale:
    return motionLevel(Motion::None);
  case scAddExpr:
    return ofSum(cast<SCEVNAryExpr>(S), Depth);
  case scMulExpr:
    return ofProduct(cast<SCEVNAryExpr>(S), Depth);
  case scUDivExpr:
    return ofQuotient(cast<SCEVUDivExpr>(S), Depth);
  case scAddRecExpr:
    return ofRecurrence(cast<SCEVAddRecExpr>(S), Depth);
  case scUMaxExpr:
  case scSMaxExpr:
  case scUMinExpr:
  case scSMinExpr:
  case scSequentialUMinExpr:
    return ofExtreme(cast<SCEVNAryExpr>(S), Depth);
  case scUnknown:
    return ofValue(cast<SCEVUnknown>(S)->getValue(), Depth);
  default:
    return motionLevel(Motion::Irregular);
  }
}

LoopLevel MotionQuery::ofSum(const SCEVNAryExpr *S, unsigned Depth) {
  LoopLevel Total = motionLevel(Motion::None);
  for (const SCEV *Op : S->operands())
    Total = motionSum(Total, of(Op, Depth + 1));
  // x % n is x - x / n * n. With short steps of x, it walks from 0 to n again and again; with long
  // steps it is a hash.
  for (const SCEV *Op : S->operands())
    if (const SCEVUDivExpr *Quotient = movingQuotient(Op);
        Quotient && !isUnpredictable(Total.Kind)) {
      LoopLevel Dividend = of(Quotient->getLHS(), Depth + 1);
      bool Short =
          Dividend.Kind == Motion::Constant && std::abs(Dividend.StrideBytes) <= MaxWalkingStep;
      return Short ? Dividend : motionLevel(Motion::Irregular);
    }
  return Total;
}

LoopLevel MotionQuery::ofProduct(const SCEVNAryExpr *S, unsigned Depth) {
  int64_t Factor = 1;
  bool Symbol = false;
  std::optional<LoopLevel> Reloaded;
  LoopLevel Moving = motionLevel(Motion::None);
  for (const SCEV *Op : S->operands()) {
    if (auto *C = dyn_cast<SCEVConstant>(Op)) {
      if (C->getAPInt().getSignificantBits() > 63)
        return motionLevel(Motion::Irregular);
      Factor *= C->getAPInt().getSExtValue();
      continue;
    }
    LoopLevel M = of(Op, Depth + 1);
    if (M.Kind != Motion::None && isReloaded(Op)) {
      Reloaded = M;
      continue;
    }
    if (isUnpredictable(M.Kind))
      return M;
    if (M.Kind == Motion::None) {
      Symbol = true;
      continue;
    }
    if (Moving.Kind != Motion::None)
      return motionLevel(Motion::Irregular); // product of two recurrences
    Moving = M;
  }
  if (Moving.Kind == Motion::None && Reloaded) {
    Moving = *Reloaded;
    if (isUnpredictable(Moving.Kind))
      return Moving;
  } else {
    Symbol |= Reloaded.has_value();
  }
  if (Moving.Kind == Motion::None)
    return motionLevel(Motion::None);
  if (Symbol || Moving.Kind == Motion::Symbolic)
    return motionLevel(Motion::Symbolic);
  return motionLevel(Motion::Constant, Moving.StrideBytes * Factor);
}

LoopLevel MotionQuery::ofQuotient(const SCEVUDivExpr *S, unsigned Depth) {
  LoopLevel N = of(S->getLHS(), Depth + 1);
  if (of(S->getRHS(), Depth + 1).Kind != Motion::None)
    return motionLevel(Motion::Irregular);
  if (N.Kind != Motion::Constant)
    return N;
  auto *C = dyn_cast<SCEVConstant>(S->getRHS());
  if (!C || C->getAPInt().getSignificantBits() > 63 || C->isZero())
    return motionLevel(Motion::Symbolic);
  int64_t Stride = N.StrideBytes / C->getAPInt().getSExtValue();
  return motionLevel(Motion::Constant, Stride ? Stride : 1); // 1: less than one unit an iteration
}

LoopLevel MotionQuery::ofRecurrence(const SCEVAddRecExpr *S, unsigned Depth) {
  if (S->getLoop() != L) {
    if (L->contains(S->getLoop())) // a recurrence of an inner loop moves with L as its start does
      return of(S->getStart(), Depth + 1);
    return motionLevel(Motion::None);
  }
  if (!S->isAffine())
    return motionLevel(Motion::Symbolic);
  LoopLevel Start = of(S->getStart(), Depth + 1);
  if (isUnpredictable(Start.Kind))
    return Start;
  if (auto *C = dyn_cast<SCEVConstant>(S->getStepRecurrence(SE));
      C && C->getAPInt().getSignificantBits() <= 63) {
    LoopLevel Walk = motionLevel(Motion::Constant, C->getAPInt().getSExtValue());
    return wraps(Walk, S->getType()) ? motionLevel(Motion::Irregular) : Walk;
  }
  LoopLevel Step = of(S->getStepRecurrence(SE), Depth + 1);
  return isUnpredictable(Step.Kind) ? Step : motionLevel(Motion::Symbolic);
}

/// Returns the motion of the least or the greatest of several values.
LoopLevel MotionQuery::ofExtreme(const SCEVNAryExpr *S, unsigned Depth) {
  LoopLevel Total = motionLevel(Motion::None);
  for (const SCEV *Op : S->operands()) {
    LoopLevel M = of(Op, Depth + 1);
    if (isUnpredictable(M.Kind))
      return M;
    if (M.Kind != Motion::None)
      Total = Total.Kind == Motion::None ? M : motionLevel(Motion::Symbolic);
  }
  return Total;
}

/// Returns the motion of \p Load, which loads a value at an address that does not move. An integer
/// moves if the loop writes it. A number of floating point counts as invariant, and a pointer as
/// the address of an object that stays.
LoopLevel MotionQuery::ofReloaded(const LoadInst &Load, unsigned Depth) {
  if (!Writes || !Load.getType()->isIntegerTy())
    return motionLevel(Motion::None);
  const Instruction *Writer = Writes->writerOf(Load, *L);
  if (!Writer)
    return motionLevel(Motion::None);
  auto *Store = dyn_cast<StoreInst>(Writer);
  if (!Store)
    return motionLevel(Motion::Irregular); // a call writes an unknown value
  const SCEV *Next = SE.getSCEV(const_cast<Value *>(Store->getValueOperand()));
  while (auto *Cast = dyn_cast<SCEVCastExpr>(Next))
    Next = Cast->getOperand();
  // A counter in memory moves by its increment.
  if (auto *Sum = dyn_cast<SCEVAddExpr>(Next); Sum && Sum->getNumOperands() == 2)
    if (auto *By = dyn_cast<SCEVConstant>(Sum->getOperand(0)))
      if (auto *From = dyn_cast<SCEVUnknown>(Sum->getOperand(1)))
        if (auto *Before = dyn_cast<LoadInst>(From->getValue());
            Before && Before->getPointerOperand() == Store->getPointerOperand())
          return motionLevel(Motion::Constant, By->getAPInt().getSExtValue());
  return of(Next, Depth + 1);
}

/// True if \p S loads a number that the loop may change. As a factor it is probably the length of a
/// row, which hardly changes.
bool MotionQuery::isReloaded(const SCEV *S) {
  while (auto *Cast = dyn_cast<SCEVCastExpr>(S))
    S = Cast->getOperand();
  auto *U = dyn_cast<SCEVUnknown>(S);
  auto *Load = U ? dyn_cast<LoadInst>(U->getValue()) : nullptr;
  return Load && L->contains(Load) &&
         of(SE.getSCEV(Load->getPointerOperand()), MaxDepth / 2).Kind == Motion::None;
}

LoopLevel MotionQuery::ofValue(Value *V, unsigned Depth) {
  auto *I = dyn_cast<Instruction>(V);
  if (!I || !L->contains(I))
    return motionLevel(Motion::None);
  if (auto *Load = dyn_cast<LoadInst>(I)) {
    LoopLevel Address = of(SE.getSCEV(Load->getPointerOperand()), Depth + 1);
    if (Address.Kind == Motion::None)
      return ofReloaded(*Load, Depth);
    if (Address.Kind == Motion::Chase)
      return Address;
    // Through one index table an address may still move in order (the rows of a sparse matrix).
    // Through two it does not.
    return motionLevel(isUnpredictable(Address.Kind) ? Motion::GatherOfGather : Motion::Gather);
  }
  // A fresh block in each iteration: allocators return blocks one after the other.
  if (auto *Call = dyn_cast<CallBase>(I); Call && Call->hasFnAttr(SiteIdAttr))
    return motionLevel(Motion::Constant, 64);
  if (auto *Phi = dyn_cast<PHINode>(I))
    return Phi->getParent() == L->getHeader() ? ofHeaderPhi(*Phi, Depth) : ofMerge(*Phi, Depth);
  if (isa<SelectInst, FreezeInst, CastInst, BinaryOperator, GetElementPtrInst>(I) &&
      Depth < MaxDepth)
    return ofOperands(*I, Depth);
  return motionLevel(Motion::Irregular);
}

LoopLevel MotionQuery::ofHeaderPhi(const PHINode &Phi, unsigned Depth) {
  if (std::optional<int64_t> Step = appendStep(&Phi, L, SE.getDataLayout()))
    return motionLevel(Motion::Constant, *Step);
  if (std::optional<int64_t> Step = nowAndThenStep(&Phi, L, SE.getDataLayout()))
    return motionLevel(Motion::Constant, *Step);
  if (Depth < MaxDepth && keepsEndOfRow(Phi, Depth))
    return motionLevel(Motion::Gather);
  if (Depth < MaxDepth && isReloaded(Phi, Depth))
    return motionLevel(Motion::None);
  return motionLevel(chasesItself(&Phi, L) ? Motion::Chase : Motion::Irregular);
}

/// True if each iteration loads the next value of \p Phi in order: the end of one row, kept as the
/// start of the next.
bool MotionQuery::keepsEndOfRow(const PHINode &Phi, unsigned Depth) {
  for (unsigned K = 0; K < Phi.getNumIncomingValues(); ++K) {
    if (!L->contains(Phi.getIncomingBlock(K)))
      continue;
    const Value *In = Phi.getIncomingValue(K);
    while (auto *Cast = dyn_cast<CastInst>(In))
      In = Cast->getOperand(0);
    auto *Load = dyn_cast<LoadInst>(In);
    if (!Load || of(SE.getSCEV(const_cast<Value *>(Load->getPointerOperand())), Depth + 1).Kind !=
                     Motion::Constant)
      return false;
  }
  return true;
}

/// True if \p Phi, in the header of the loop, keeps a value that the loop loads again at an address
/// that does not move: the stores of the loop may alias it, or probably do not change it.
bool MotionQuery::isReloaded(const PHINode &Phi, unsigned Depth) {
  constexpr unsigned MaxValues = 16;
  SmallVector<const Value *, 8> Stack(Phi.incoming_values());
  SmallPtrSet<const Value *, 16> Seen{&Phi};
  bool Loads = false;
  while (!Stack.empty()) {
    auto *I = dyn_cast<Instruction>(Stack.pop_back_val());
    if (!I || !L->contains(I) || !Seen.insert(I).second)
      continue;
    if (Seen.size() > MaxValues)
      return false;
    if (auto *Load = dyn_cast<LoadInst>(I)) {
      if (ofValue(const_cast<LoadInst *>(Load), Depth + 1).Kind != Motion::None)
        return false;
      Loads = true;
    } else if (isa<PHINode, SelectInst, CastInst, FreezeInst>(I)) {
      for (const Use &Op : drop_begin(I->operands(), isa<SelectInst>(I)))
        Stack.push_back(Op);
    } else {
      return false;
    }
  }
  return Loads;
}

/// Returns the motion of a merge, or of the header phi of an inner loop: the worst of its inputs.
/// An input that depends on the phi itself counts as irregular, unless the phi is a counter that
/// the inner loop advances.
LoopLevel MotionQuery::ofMerge(const PHINode &Phi, unsigned Depth) {
  // A counter of an inner loop moves with L as its start does.
  const Loop *Inner = nullptr;
  for (const Loop *Sub = L; Sub;) {
    auto In = find_if(*Sub, [&](const Loop *S) { return S->contains(&Phi); });
    Sub = In == Sub->end() ? nullptr : *In;
    if (Sub && Sub->getHeader() == Phi.getParent())
      Inner = Sub;
  }
  const bool Counted = Inner && nowAndThenStep(&Phi, Inner, SE.getDataLayout());
  LoopLevel Worst = motionLevel(Motion::None);
  for (unsigned K = 0; K < Phi.getNumIncomingValues(); ++K) {
    Value *In = Phi.getIncomingValue(K);
    if (In == &Phi || !SE.isSCEVable(In->getType()) ||
        (Counted && Inner->contains(Phi.getIncomingBlock(K))))
      continue;
    LoopLevel M = of(SE.getSCEV(In), Depth + 1);
    if (M.Kind > Worst.Kind ||
        (M.Kind == Worst.Kind && std::abs(M.StrideBytes) > std::abs(Worst.StrideBytes)))
      Worst = M;
  }
  return Worst;
}

LoopLevel MotionQuery::ofOperands(const Instruction &I, unsigned Depth) {
  LoopLevel Worst = motionLevel(Motion::None);
  bool Moves = false;
  for (Value *Op : I.operands()) {
    const bool Float = Op->getType()->isFloatingPointTy();
    if ((!Float && !SE.isSCEVable(Op->getType())) || (isa<SelectInst>(I) && Op == I.getOperand(0)))
      continue;
    LoopLevel M = Float ? ofFloat(Op, Depth + 1) : of(SE.getSCEV(Op), Depth + 1);
    Moves |= M.Kind != Motion::None;
    if (M.Kind > Worst.Kind)
      Worst = M;
  }
  if (!Moves)
    return motionLevel(Motion::None);
  if (isa<SelectInst, FreezeInst, FPToSIInst, FPToUIInst>(I) || isUnpredictable(Worst.Kind))
    return Worst;
  return motionLevel(Motion::Irregular); // xor, remainder, shift of a recurrence: a hash
}

LoopLevel motionOf(const SCEV *S, const Loop *L, ScalarEvolution &SE) {
  return MotionQuery(L, SE).of(S);
}

} // namespace smalloc
