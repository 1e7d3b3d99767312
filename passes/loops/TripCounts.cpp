//===- TripCounts.cpp - the trip counts of loops ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/loops/TripCounts.h"
#include "passes/ir/LlvmVersions.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include <cmath>

using namespace llvm;

namespace smalloc {

/// Trip counts from here on are ignored if a loop may exit early. Then the bound is not the
/// program's: its 32-bit counter would overflow there, at steps of up to four.
static constexpr uint64_t CounterOverflows = uint64_t(1) << 30;

std::optional<TripCounts::Range> TripCounts::range(const SCEV *S, unsigned Depth) {
  constexpr unsigned MaxNested = 12; // expressions inside each other
  if (Depth > MaxNested)
    return std::nullopt;
  if (auto *C = dyn_cast<SCEVConstant>(S)) {
    if (C->getAPInt().getSignificantBits() > 63)
      return std::nullopt;
    const double V = static_cast<double>(C->getAPInt().getSExtValue());
    return Range{V, V, V};
  }
  if (auto *Cast = dyn_cast<SCEVIntegralCastExpr>(S))
    return range(Cast->getOperand(), Depth + 1);
  if (auto *R = dyn_cast<SCEVAddRecExpr>(S))
    return rangeOfRecurrence(R, Depth);
  if (auto *D = dyn_cast<SCEVUDivExpr>(S)) {
    auto *C = dyn_cast<SCEVConstant>(D->getRHS());
    std::optional<Range> N = range(D->getLHS(), Depth + 1);
    if (!N || !C || C->isZero() || C->getAPInt().getActiveBits() > 62)
      return std::nullopt;
    const double By = static_cast<double>(C->getAPInt().getZExtValue());
    return Range{N->Mean / By, N->Min / By, N->Max / By, N->Of};
  }
  auto *Nary = dyn_cast<SCEVNAryExpr>(S);
  if (!Nary)
    return std::nullopt;
  std::optional<Range> Total;
  for (const SCEV *Op : Nary->operands()) {
    std::optional<Range> R = range(Op, Depth + 1);
    if (!R)
      return std::nullopt;
    Total = Total ? combined(*Nary, *Total, *R) : R;
    if (!Total)
      return std::nullopt;
  }
  return Total;
}

std::optional<TripCounts::Range> TripCounts::rangeOfRecurrence(const SCEVAddRecExpr *R,
                                                               unsigned Depth) {
  auto *Step = dyn_cast<SCEVConstant>(R->getStepRecurrence(SE));
  std::optional<Range> Start = R->isAffine() && Step && Step->getAPInt().getSignificantBits() <= 32
                                   ? range(R->getStart(), Depth + 1)
                                   : std::nullopt;
  if (!Start)
    return std::nullopt;
  const LoopLevel &Outer = of(R->getLoop());
  if (!Outer.Trip)
    return std::nullopt;
  const double By = static_cast<double>(Step->getAPInt().getSExtValue());
  const double Trip = static_cast<double>(*Outer.Trip);
  const double Least = Outer.TripOf ? static_cast<double>(Outer.TripMin) : Trip;
  const double Most = Outer.TripOf ? static_cast<double>(Outer.TripMax) : Trip;
  // An execution of T iterations takes the T values 0 .. T - 1. The mean over all executions is
  // (E[T^2] / E[T] - 1) / 2, with T evenly distributed between its ends.
  const double Square = (Least * Least + Least * Most + Most * Most) / 3;
  const double Index = Trip > 0 ? std::max(0.0, (Square / Trip - 1) / 2) : 0;
  const double Last = By * (Most - 1);
  return Range{Start->Mean + By * Index, Start->Min + std::min(0.0, Last),
               Start->Max + std::max(0.0, Last), R->getLoop()};
}

/// Returns the range of an operation like \p S on values with the ranges \p A and \p B; nothing if
/// it does not run evenly.
std::optional<TripCounts::Range> TripCounts::combined(const SCEVNAryExpr &S, const Range &A,
                                                      const Range &B) {
  const Loop *Of = A.Of ? A.Of : B.Of;
  switch (S.getSCEVType()) {
  case scAddExpr:
    return Range{A.Mean + B.Mean, A.Min + B.Min, A.Max + B.Max, Of};
  case scMulExpr: {
    if (A.Of && B.Of)
      return std::nullopt; // a product of two moving values does not run evenly
    const double By = A.Of ? B.Mean : A.Mean;
    const Range &Moving = A.Of ? A : B;
    return Range{By * Moving.Mean, std::min(By * Moving.Min, By * Moving.Max),
                 std::max(By * Moving.Min, By * Moving.Max), Of};
  }
  case scUMaxExpr:
  case scSMaxExpr:
    return Range{std::max(A.Mean, B.Mean), std::max(A.Min, B.Min), std::max(A.Max, B.Max), Of};
  case scUMinExpr:
  case scSMinExpr:
  case scSequentialUMinExpr:
    return Range{std::min(A.Mean, B.Mean), std::min(A.Min, B.Min), std::min(A.Max, B.Max), Of};
  default:
    return std::nullopt;
  }
}

LoopLevel TripCounts::compute(const Loop *L) {
  LoopLevel Level;
  const SCEV *Count = SE.getBackedgeTakenCount(L);
  const bool AtMost = isa<SCEVCouldNotCompute>(Count);
  if (AtMost)
    Count = SE.getSymbolicMaxBackedgeTakenCount(L);
  if (auto *C = dyn_cast<SCEVConstant>(Count)) {
    const uint64_t Trip = C->getAPInt().getLimitedValue(UINT64_MAX - 1) + 1;
    if (!AtMost || Trip < CounterOverflows) {
      Level.Trip = Trip;
      return Level;
    }
    Count = SE.getCouldNotCompute();
  }
  if (auto Estimated = getLoopEstimatedTripCount(const_cast<Loop *>(L)); Estimated && *Estimated)
    Level.Trip = *Estimated;
  if (!isa<SCEVCouldNotCompute>(Count)) {
    Counts[L] = Count;
    Level.Counted = true;
    if (std::optional<Range> R = range(Count); R && !Level.Trip && R->Max < 0x1p62) {
      Level.Trip = static_cast<uint64_t>(std::max(1.0, std::round(R->Mean + 1)));
      if (R->Of && R->Max > R->Min) {
        Level.TripOf = R->Of;
        Level.TripMin = static_cast<uint64_t>(std::max(0.0, R->Min + 1));
        Level.TripMax = static_cast<uint64_t>(std::max(1.0, R->Max + 1));
      }
    }
    return Level;
  }
  SmallVector<BasicBlock *, 4> Exiting;
  L->getExitingBlocks(Exiting);
  for (BasicBlock *B : Exiting) {
    auto *Compare = dyn_cast_or_null<ICmpInst>(conditionOf(B->getTerminator()));
    if (!Compare || !SE.isSCEVable(Compare->getOperand(0)->getType()))
      continue;
    for (unsigned Side = 0; Side < 2; ++Side) {
      const SCEV *Moving = SE.getSCEV(Compare->getOperand(Side)),
                 *Bound = SE.getSCEV(Compare->getOperand(1 - Side));
      Motion Kind = motionOf(Moving, L, SE).Kind;
      if ((Kind == Motion::Constant || Kind == Motion::Symbolic) &&
          motionOf(Bound, L, SE).Kind == Motion::None && !isa<SCEVConstant>(Bound)) {
        Counts[L] = Bound;
        Level.Counted = true;
        return Level;
      }
    }
  }
  return Level;
}

const SCEV *TripCounts::countOf(const Loop *L) {
  of(L);
  return Counts.lookup(L);
}

const LoopLevel &TripCounts::of(const Loop *L) {
  if (auto It = Known.find(L); It != Known.end())
    return It->second;
  LoopLevel Level = compute(L); // may insert the loops around L, and so move the map's entries
  return Known[L] = Level;
}

} // namespace smalloc
