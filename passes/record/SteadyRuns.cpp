//===- SteadyRuns.cpp - steady accesses with one common test --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/record/SteadyRuns.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace smalloc {
namespace {

std::optional<int64_t> stepOf(const SCEV *S, const Loop *L, ScalarEvolution &SE) {
  const auto *R = dyn_cast<SCEVAddRecExpr>(S);
  if (!R || R->getLoop() != L || !R->isAffine())
    return std::nullopt;
  const auto *Step = dyn_cast<SCEVConstant>(R->getStepRecurrence(SE));
  if (!Step || Step->getAPInt().getSignificantBits() > 32 || Step->isZero())
    return std::nullopt;
  return Step->getAPInt().getSExtValue();
}

/// Returns the bytes that the address moves if the counter moves by one; nothing if it does not
/// move with the counter.
std::optional<int64_t> bytesOfOne(const SteadyAccess &A, const PHINode &Counter,
                                  ScalarEvolution &SE) {
  const SCEV *Count = SE.getSCEV(const_cast<PHINode *>(&Counter));
  const std::optional<int64_t> Step = stepOf(A.Address, A.L, SE), One = stepOf(Count, A.L, SE);
  if (!Step || !One || *Step % *One != 0)
    return std::nullopt;
  const int64_t Bytes = *Step / *One;
  const SCEV *Rest = SE.getAddExpr(
      A.Address, SE.getMulExpr(SE.getConstant(Count->getType(), static_cast<uint64_t>(-Bytes),
                                              /*isSigned=*/true),
                               Count));
  return SE.isLoopInvariant(Rest, A.L->getOutermostLoop()) ? std::optional(Bytes) : std::nullopt;
}

} // namespace

std::vector<SteadyRun> steadyRuns(ArrayRef<SteadyAccess> Accesses, ScalarEvolution &SE) {
  std::vector<SteadyRun> Runs;
  SmallVector<bool, 16> Taken(Accesses.size(), false);
  for (size_t First = 0; First < Accesses.size(); ++First) {
    const SteadyAccess &A = Accesses[First];
    if (Taken[First] || !A.L)
      continue;
    SteadyRun Best;
    for (PHINode &Counter : A.L->getHeader()->phis()) {
      if (!Counter.getType()->isIntegerTy(64))
        continue;
      SteadyRun Run{&Counter, {}};
      for (size_t I = First; I < Accesses.size(); ++I)
        if (const SteadyAccess &B = Accesses[I];
            !Taken[I] && B.L == A.L && B.Piece == A.Piece && B.Calls == A.Calls)
          if (const auto Bytes = bytesOfOne(B, Counter, SE))
            Run.Members.push_back({I, *Bytes});
      if (Run.Members.size() > Best.Members.size())
        Best = std::move(Run);
    }
    if (Best.Members.size() < 2)
      continue;
    for (const SteadyRun::Member &M : Best.Members)
      Taken[M.Index] = true;
    Runs.push_back(std::move(Best));
  }
  return Runs;
}

} // namespace smalloc
