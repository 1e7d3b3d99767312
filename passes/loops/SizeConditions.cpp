//===- SizeConditions.cpp - run-time tests of the sizes of a walk -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/loops/SizeConditions.h"
#include "passes/ir/LlvmVersions.h"
#include "passes/loops/SameValue.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IRBuilder.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Most parts of a value that is computed for a test: a few instructions.
constexpr unsigned MaxParts = 12;

/// Returns the step of \p Address around \p L; null if it is no affine recurrence of \p L.
const SCEV *stepAround(const SCEV *Address, const Loop *L, ScalarEvolution &SE) {
  while (auto *Walk = dyn_cast<SCEVAddRecExpr>(Address)) {
    if (Walk->getLoop() == L)
      return Walk->isAffine() ? Walk->getStepRecurrence(SE) : nullptr;
    Address = Walk->getStart();
  }
  return nullptr;
}

/// Returns the trip count of \p L, assuming that it runs, as a 64-bit value known before
/// \p Outermost; null if there is none.
const SCEV *countBefore(const Loop *L, const Loop *Outermost, ScalarEvolution &SE) {
  const SCEV *Count = SE.getBackedgeTakenCount(L);
  if (isa<SCEVCouldNotCompute>(Count) || SE.getTypeSizeInBits(Count->getType()) > 64 ||
      !SE.isLoopInvariant(Count, Outermost))
    return nullptr;
  Type *I64 = Type::getInt64Ty(L->getHeader()->getContext());
  return SE.getAddExpr(SE.getNoopOrZeroExtend(Count, I64), SE.getOne(I64));
}

bool knownAt(const SCEV *Value, const Instruction &At, ScalarEvolution &SE) {
  const BasicBlock *Block = At.getParent();
  if (Value->getExpressionSize() > MaxParts || !SE.dominates(Value, Block))
    return false;
  return !SCEVExprContains(Value, [&](const SCEV *Part) {
    if (isa<SCEVAddRecExpr, SCEVUDivExpr>(Part)) // the value moves, or computing it may trap
      return true;
    auto *Unknown = dyn_cast<SCEVUnknown>(Part);
    auto *I = Unknown ? dyn_cast<Instruction>(Unknown->getValue()) : nullptr;
    return I && I->getParent() == Block && !I->comesBefore(&At);
  });
}

std::string boundsText(const SizeBounds &B, StringRef Unit) {
  std::string Text;
  if (B.Least == B.Most)
    Text = utostr(B.Least);
  else if (B.Most == UINT64_MAX)
    Text = "at least " + utostr(B.Least);
  else if (B.Least <= 1)
    Text = "at most " + utostr(B.Most);
  else
    Text = utostr(B.Least) + " to " + utostr(B.Most);
  return Text + " " + Unit.str();
}

} // namespace

std::optional<OpenSizes> openSizes(const LoopReference &R, ScalarEvolution &SE) {
  OpenSizes Out;
  if (!R.Outermost || !SE.isSCEVable(R.Pointer->getType()))
    return std::nullopt;
  const SCEV *Address = SE.getSCEV(R.Pointer);
  auto SizeOf = [&](const SCEV *Value) {
    auto Known = find_if(Out.Values, [&](const SCEV *V) { return sameSum(V, Value, SE); });
    return static_cast<size_t>(Known - Out.Values.begin());
  };
  for (size_t I = 0; I < R.Levels.size(); ++I) {
    const LoopLevel &L = R.Levels[I];
    if (L.OfCopy || isUnpredictable(L.Kind))
      return std::nullopt;
    if (!L.L || L.Trip) // a caller's loop, or a count that is constant or estimated
      continue;
    const SCEV *Count = countBefore(L.L, R.Outermost, SE);
    if (!Count)
      continue;
    const size_t Size = SizeOf(Count);
    Out.Places.push_back({I, /*Stride=*/false, {Size}});
    if (Size == Out.Values.size())
      Out.Values.push_back(Count);
  }
  for (size_t I = 0; I < R.Levels.size(); ++I) {
    const LoopLevel &L = R.Levels[I];
    if (L.Kind != Motion::Symbolic)
      continue;
    const SCEV *Step = L.L ? stepAround(Address, L.L, SE) : nullptr;
    if (!Step || !SE.isLoopInvariant(Step, R.Outermost) ||
        SE.getTypeSizeInBits(Step->getType()) != 64)
      return std::nullopt;
    OpenPlace Place{I, /*Stride=*/true, {}};
    // The step usually has as many elements as other loops have iterations.
    const Product Elements = productOf(Step, SE);
    bool Counted = Elements.Valid && Elements.Factor > 0 && !Elements.Symbols.empty();
    for (const auto &[Symbol, Power] : Elements.Symbols)
      if (Counted) {
        Place.Sizes.push_back(SizeOf(Symbol));
        Counted = !Power && Place.Sizes.back() < Out.Values.size();
      }
    if (Counted) {
      Place.Factor = static_cast<uint64_t>(Elements.Factor);
    } else {
      const SCEV *Bytes = SE.getAbsExpr(Step, /*IsNSW=*/false);
      Place.Sizes = {SizeOf(Bytes)};
      if (Place.Sizes[0] == Out.Values.size())
        Out.Values.push_back(Bytes);
    }
    Out.Places.push_back(std::move(Place));
  }
  if (Out.Values.empty() || Out.Values.size() > MaxOpenSizes)
    return std::nullopt;
  return Out;
}

SizeCondition conditionOf(const OpenSizes &Open, const std::vector<SizeBounds> &Bounds) {
  SizeCondition Out;
  for (size_t I = 0; I < Bounds.size(); ++I)
    if (!Bounds[I].any())
      Out.push_back({Open.Values[I], Bounds[I]});
  return Out;
}

bool testableAt(const OpenSizes &Open, const Instruction &At, ScalarEvolution &SE) {
  return all_of(Open.Values, [&](const SCEV *Value) { return knownAt(Value, At, SE); });
}

SizeTests sizesAt(const SizeConditions &Any, Instruction &At, ScalarEvolution &SE) {
  ScevExpander Expander(SE);
  SizeTests Tests;
  SmallVector<const SCEV *, 4> Known;
  for (const SizeCondition &All : Any) {
    if (All.empty()) // the walk pays at all sizes
      return {};
    auto &Each = Tests.Any.emplace_back();
    for (const SizeTest &T : All) {
      // Tests the narrow value without its extension, as later passes would do.
      const SCEV *Of = T.Value;
      if (auto *Wide = dyn_cast<SCEVZeroExtendExpr>(Of);
          Wide && T.Bounds.Most == UINT64_MAX &&
          isUIntN(SE.getTypeSizeInBits(Wide->getOperand()->getType()), T.Bounds.Least))
        Of = Wide->getOperand();
      const auto Size = static_cast<size_t>(find(Known, Of) - Known.begin());
      if (Size == Known.size()) {
        Known.push_back(Of);
        Tests.Sizes.push_back(Expander.expandCodeFor(Of, Of->getType(), At.getIterator()));
      }
      Each.push_back({Size, T.Bounds});
    }
  }
  return Tests;
}

Value *testAt(const SizeTests &Tests, Instruction &At) {
  IRBuilder<> B(&At);
  Value *Some = nullptr;
  for (const auto &All : Tests.Any) {
    Value *Each = nullptr;
    for (const SizeTests::Test &T : All) {
      Value *Size = Tests.Sizes[T.Size];
      const uint64_t Least = T.Bounds.Least;
      Value *Holds = T.Bounds.Most == UINT64_MAX
                         ? B.CreateICmpUGT(Size, ConstantInt::get(Size->getType(), Least - 1))
                         : B.CreateICmpULT(B.CreateSub(Size, B.getInt64(Least)),
                                           B.getInt64(T.Bounds.Most - Least + 1));
      Each = Each ? B.CreateAnd(Each, Holds) : Holds;
    }
    Some = Some ? B.CreateOr(Some, Each) : Each;
  }
  return Some ? Some : B.getTrue();
}

std::string sizesText(const LoopReference &R, const OpenSizes &Open,
                      const std::vector<SizeBounds> &Bounds) {
  std::string Text;
  for (size_t I = 0; I < Bounds.size(); ++I) {
    if (Bounds[I].any())
      continue;
    const OpenPlace &P = *find_if(Open.Places, [&](const OpenPlace &P) {
      return P.Sizes.size() == 1 && P.Sizes[0] == I && P.Factor == 1;
    });
    std::string Which = P.Level ? "loop " + utostr(P.Level + 1) + " from inside" : "the inner loop";
    if (DebugLoc Start = R.Levels[P.Level].L->getStartLoc())
      Which = "the loop at line " + utostr(Start.getLine());
    Text += Text.empty() ? "where " : " and ";
    Text += P.Stride ? "a step of " + Which + " has " + boundsText(Bounds[I], "bytes")
                     : Which + " runs " + boundsText(Bounds[I], "times");
  }
  return Text;
}

} // namespace smalloc
