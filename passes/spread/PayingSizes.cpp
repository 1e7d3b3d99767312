//===- PayingSizes.cpp - loop sizes for which superpages pay ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/spread/PayingSizes.h"

#include <algorithm>
#include <random>

namespace smalloc {
namespace {

/// Trip count of a run that is too short for a prefetcher to follow.
constexpr uint64_t ShortRun = 8;
/// Largest count or stride that is tried; larger ones count as this one.
constexpr uint64_t MaxSize = uint64_t(1) << 24;
/// Largest product of sizes.
constexpr uint64_t MostOfAll = uint64_t(1) << 56;

SpreadReference with(const OpenWalk &Walk, const std::vector<uint64_t> &Sizes) {
  SpreadReference Out = Walk.R;
  for (const OpenPlace &P : Walk.Places) {
    uint64_t Value = P.Factor;
    for (size_t Size : P.Sizes)
      if (__builtin_mul_overflow(Value, Sizes[Size], &Value) || Value > MostOfAll)
        Value = MostOfAll;
    SpreadLevel &L = Out.Levels[P.Level];
    if (P.Stride) {
      L.StrideBytes = static_cast<int64_t>(Value);
    } else {
      L.Trip = Value;
      L.TripAssumed = false;
    }
  }
  return Out;
}

/// True if the box holds most of the sizes that pay. Samples sizes of all magnitudes, of walks with
/// up to 2^32 iterations. Sizes within a factor of two of a bound are the box' edge, where it may
/// be wrong.
bool holdsWhatPays(const std::vector<SizeBounds> &Bounds, const std::vector<bool> &IsCount,
                   const std::function<bool(const std::vector<uint64_t> &)> &PaysAt) {
  constexpr unsigned Samples = 256, MaxLog = 17, MaxLogOfAll = 32;
  constexpr unsigned OneOf = 5; // one of this many paying samples may be outside the box
  std::minstd_rand Random;      // unseeded: the same samples in each run
  std::vector<std::vector<uint64_t>> Outside, Inside;
  for (unsigned S = 0; S < Samples; ++S) {
    std::vector<uint64_t> At(Bounds.size());
    unsigned LogOfAll = 0;
    bool Beyond = false;
    for (size_t I = 0; I < At.size(); ++I) {
      const unsigned Log = 1 + Random() / 64 % MaxLog;
      LogOfAll += IsCount[I] ? Log : 0;
      At[I] = (uint64_t(1) << Log) + Random() % (uint64_t(1) << Log);
      Beyond |= 2 * At[I] < Bounds[I].Least || At[I] / 2 > Bounds[I].Most;
    }
    if (LogOfAll <= MaxLogOfAll)
      (Beyond ? Outside : Inside).push_back(std::move(At));
  }
  // Each paying sample outside the box needs OneOf - 1 paying samples inside. Evaluates only as
  // many inside samples as that takes, usually few.
  size_t Missing = 0;
  for (const std::vector<uint64_t> &At : Outside) {
    Missing += PaysAt(At) ? OneOf - 1 : 0;
    if (Missing > Inside.size())
      return false;
  }
  for (size_t I = 0; Missing > 0 && Missing <= Inside.size() - I; ++I)
    Missing -= PaysAt(Inside[I]) ? 1 : 0;
  return Missing == 0;
}

} // namespace

std::optional<std::vector<SizeBounds>>
payingSizes(const OpenWalk &Walk, uint64_t Typical, uint64_t PageBytes,
            const std::function<bool(const SpreadReference &)> &Pays) {
  const size_t Number = Walk.Sizes;
  if (Number == 0 || Number > MaxOpenSizes)
    return std::nullopt;
  std::vector<uint64_t> Large(Number, PageBytes);
  std::vector<bool> IsCount(Number, false);
  for (const OpenPlace &P : Walk.Places)
    if (!P.Stride)
      for (size_t Size : P.Sizes) {
        Large[Size] = std::min(Typical, MaxSize);
        IsCount[Size] = true;
      }
  std::vector<uint64_t> Sizes = Large;
  bool Found = Pays(with(Walk, Sizes));
  for (size_t I = 0; I < Number && !Found; ++I) {
    if (!IsCount[I])
      continue;
    Sizes = Large;
    Sizes[I] = ShortRun;
    Found = Pays(with(Walk, Sizes));
  }
  if (!Found)
    return std::nullopt;
  std::vector<SizeBounds> Bounds(Number);
  for (size_t I = 0; I < Number; ++I) {
    auto PaysAt = [&](uint64_t Size) {
      std::vector<uint64_t> Other = Sizes;
      Other[I] = Size;
      return Pays(with(Walk, Other));
    };
    uint64_t No = 1, Yes = Sizes[I];
    if (!PaysAt(No)) {
      while (Yes - No > 1)
        (PaysAt(No + (Yes - No) / 2) ? Yes : No) = No + (Yes - No) / 2;
      Bounds[I].Least = Yes;
    }
    Yes = Sizes[I];
    No = MaxSize;
    if (!PaysAt(No)) {
      // Tries steps that double, since the bound is usually near.
      for (uint64_t Next = 2 * Yes; Next < No && PaysAt(Next); Next *= 2)
        Yes = Next;
      No = std::min(2 * Yes, MaxSize);
      while (No - Yes > 1)
        (PaysAt(Yes + (No - Yes) / 2) ? Yes : No) = Yes + (No - Yes) / 2;
      Bounds[I].Most = Yes;
    }
  }
  if (!holdsWhatPays(Bounds, IsCount,
                     [&](const std::vector<uint64_t> &At) { return Pays(with(Walk, At)); }))
    return std::nullopt;
  return Bounds;
}

} // namespace smalloc
