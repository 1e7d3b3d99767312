//===- Neighbours.cpp - references near each other --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/loops/Neighbours.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"

using namespace llvm;

namespace smalloc {

/// Most members that a reference is compared with: the first ones. Unrolled code has more.
static constexpr size_t MaxNeighbours = 32;

/// Returns the last address of \p W; null if the loop's count is unknown.
const SCEV *Neighbours::lastOf(InnerWalk &W) {
  const SCEV *Count = SE.getBackedgeTakenCount(W.Walk->getLoop());
  if (!W.Last && !isa<SCEVCouldNotCompute>(Count))
    W.Last = W.Walk->evaluateAtIteration(
        SE.getTruncateOrZeroExtend(Count, SE.getEffectiveSCEVType(Count->getType())), SE);
  return W.Last;
}

/// True if a walk in a loop directly inside starts or ends less than a page from \p Address.
bool Neighbours::isPassed(Neighbourhood &Near, const SCEV *Address) {
  const auto IsNear = [&](const SCEV *End) {
    std::optional<APInt> Apart = End ? SE.computeConstantDifference(Address, End) : std::nullopt;
    return Apart && Apart->abs().ult(PageBytes);
  };
  return any_of(MutableArrayRef(Near.Inside).take_front(MaxNeighbours / 2),
                [&](InnerWalk &W) { return IsNear(W.Walk->getStart()) || IsNear(lastOf(W)); });
}

void Neighbours::compare(LoopReference &R, const Loop *Inner, const SCEV *Address) {
  Neighbourhood &Near = ByBase[{Inner, SE.getPointerBase(Address)}];
  for (size_t K = 0; K < std::min(Near.Members.size(), MaxNeighbours); ++K) {
    const Member &M = Near.Members[K];
    std::optional<APInt> Apart =
        M.Address == Address ? APInt(64, 0) : SE.computeConstantDifference(Address, M.Address);
    if (!Apart || Apart->getSignificantBits() > 63)
      continue;
    R.Repeated |= Apart->abs().ult(PageBytes);
    LoopReference &Other = References[M.Reference];
    if (!Other.Group)
      Other.Group = ++Groups;
    R.Group = Other.Group;
    R.OffsetBytes = Other.OffsetBytes + Apart->getSExtValue();
    if (R.Repeated)
      break;
  }
  R.Repeated = R.Repeated || isPassed(Near, Address);
}

void Neighbours::add(const Loop *Inner, const SCEV *Address) {
  const SCEV *Base = SE.getPointerBase(Address);
  ByBase[{Inner, Base}].Members.push_back({Address, References.size()});
  // The surrounding loop's accesses at the start or end of this walk are on a page that the walk
  // has touched.
  auto *Walk = dyn_cast<SCEVAddRecExpr>(Address);
  const Loop *Around = Inner->getParentLoop();
  if (Walk && Around && Walk->getLoop() == Inner && Walk->isAffine())
    ByBase[{Around, Base}].Inside.push_back({Walk});
}

} // namespace smalloc
