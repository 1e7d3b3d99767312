//===- ReferenceShape.cpp - references as walks of the spread model -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/loops/ReferenceShape.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Iterations assumed for a loop of unknown count. Many, so that the object's size bounds the
/// spread.
constexpr uint64_t AssumedTrip = 1u << 20;
/// Unpredictable accesses assumed where their number is unknown: enough to return to every page of
/// any object.
constexpr uint64_t AssumedDraws = uint64_t(1) << 40;
/// Iterations assumed for an inner loop that starts at another place each time (a vertex's
/// neighbours).
constexpr uint64_t AssumedRun = 16;

/// True if a walk starts at an arbitrary place in each iteration. A walk through one table of
/// indices is no jump: usually it continues where it ended.
bool isJump(Motion Kind) { return isUnpredictable(Kind) && Kind != Motion::Gather; }

} // namespace

SpreadReference numbers(const LoopReference &R, uint64_t ObjectBytes, uint64_t PageBytes,
                        LoopNumbers &Loops) {
  SpreadReference S;
  S.ElementBytes = std::max<uint64_t>(R.Bytes, 1);
  S.ObjectBytes = ObjectBytes;
  S.OffsetBytes = R.OffsetBytes;
  S.StartBytes = R.StartBytes;
  S.Prefetched = R.Prefetched;
  for (const LoopLevel &L : R.Levels) {
    SpreadLevel Out;
    Out.Irregular = isUnpredictable(L.Kind);
    Out.TripAssumed = !L.Trip;
    Out.Trip = std::max<uint64_t>(L.Trip.value_or(Out.Irregular ? AssumedDraws : AssumedTrip), 1);
    if (L.Kind == Motion::Constant)
      Out.StrideBytes = L.StrideBytes;
    else if (L.Kind == Motion::Symbolic)
      Out.StrideBytes = static_cast<int64_t>(PageBytes); // a row of an array of unknown shape
    // No other reference is inside a copy: its loop gets no number.
    if (!L.OfCopy)
      Out.Loop = L.L ? Loops.try_emplace(L.L, Loops.size() + 2).first->second : 1;
    for (size_t K = S.Levels.size() + 1; L.TripOf && K < R.Levels.size(); ++K)
      if (R.Levels[K].L == L.TripOf) {
        Out.TripOf = static_cast<unsigned>(K);
        Out.TripMin = L.TripMin;
        Out.TripMax = L.TripMax;
      }
    // Limits only the loop directly inside the jump. A loop further inside starts where the steps
    // of that one lead, not at an arbitrary place (an FFT's butterflies).
    if (isJump(L.Kind) && !S.Levels.empty())
      if (SpreadLevel &Run = S.Levels.back();
          Run.TripAssumed && Run.StrideBytes != 0 &&
          static_cast<uint64_t>(std::abs(Run.StrideBytes)) < PageBytes)
        Run.Trip = std::min(Run.Trip, AssumedRun);
    S.Levels.push_back(Out);
  }
  return S;
}

smalloc_pattern patternOf(const LoopReference &R, uint64_t MaxStreamStride) {
  const LoopLevel *L = R.varying();
  if (!L)
    return SMALLOC_PATTERN_NONE;
  switch (L->Kind) {
  case Motion::Chase:
    return SMALLOC_PATTERN_POINTER_CHASING;
  case Motion::Gather:
  case Motion::GatherOfGather:
  case Motion::Irregular:
    return SMALLOC_PATTERN_SCATTERED;
  case Motion::Symbolic:
    return SMALLOC_PATTERN_STRIDED;
  default:
    return static_cast<uint64_t>(std::abs(L->StrideBytes)) <= MaxStreamStride
               ? SMALLOC_PATTERN_STREAMING
               : SMALLOC_PATTERN_STRIDED;
  }
}

std::vector<uint64_t> shapeOf(const SpreadReference &Own) {
  std::vector<uint64_t> Shape{Own.ElementBytes, Own.StartBytes, Own.Prefetched};
  for (const SpreadLevel &L : Own.Levels)
    Shape.insert(Shape.end(),
                 {static_cast<uint64_t>(L.StrideBytes), L.Trip, L.TripMin, L.TripMax,
                  uint64_t(L.TripOf) << 2 | uint64_t(L.TripAssumed) << 1 | L.Irregular, L.Loop});
  return Shape;
}

LoopReference insideOneMore(const LoopReference &R, uint64_t Times) {
  LoopReference Repeated = R;
  if (Times)
    Repeated.Levels.emplace_back().Trip = Times;
  return Repeated;
}

bool walksOnce(const LoopReference &R) {
  const LoopLevel *Moving = R.varying();
  return Moving &&
         (Moving->Kind == Motion::Chase ||
          ((Moving->Kind == Motion::Gather || Moving->Kind == Motion::GatherOfGather) &&
           R.ThroughPointers)) &&
         &R.Levels.back() == Moving && !R.Assumed;
}

bool tripsKnown(const LoopReference &R) {
  return all_of(R.Levels, [](const LoopLevel &L) { return L.Trip.has_value(); });
}

bool shapeKnown(const LoopReference &R) {
  return none_of(R.Levels, [](const LoopLevel &L) { return L.Kind == Motion::Symbolic; });
}

} // namespace smalloc
