//===- PageSpread.cpp - pages that a loop nest touches ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "PageSpread.h"

#include <algorithm>
#include <cmath>

namespace smalloc {
namespace {

double magnitude(int64_t Stride) { return std::fabs(static_cast<double>(Stride)); }

double objectPages(const SpreadReference &R, uint64_t PageBytes) {
  if (R.ObjectBytes == UINT64_MAX)
    return INFINITY;
  return std::ceil(static_cast<double>(std::max<uint64_t>(R.ObjectBytes, 1)) /
                   static_cast<double>(PageBytes));
}

/// Expected number of distinct pages hit by \p Draws independent draws out of \p Pages.
double distinctOfDraws(double Draws, double Pages) {
  if (std::isinf(Pages))
    return Draws;
  return Pages * -std::expm1(Draws * std::log1p(-1.0 / std::max(Pages, 1.0 + 1e-9)));
}

double iterations(const SpreadReference &R, size_t From, size_t To) {
  double N = 1;
  for (size_t I = From; I < To && I < R.Levels.size(); ++I)
    N *= static_cast<double>(R.Levels[I].Trip);
  return N;
}

/// \p R with assumed trip counts bounded by what fits the object.
SpreadReference bounded(SpreadReference R) {
  if (R.ObjectBytes == UINT64_MAX)
    return R;
  for (SpreadLevel &L : R.Levels)
    if (L.TripAssumed && !L.Irregular && L.StrideBytes != 0) {
      double Fits = static_cast<double>(R.ObjectBytes) / magnitude(L.StrideBytes);
      L.Trip = std::max<uint64_t>(1, std::min<uint64_t>(L.Trip, static_cast<uint64_t>(Fits)));
    }
  return R;
}

/// Innermost level that the address varies with; Levels.size() if none.
size_t innermostVarying(const SpreadReference &R) {
  for (size_t I = 0; I < R.Levels.size(); ++I)
    if (R.Levels[I].Irregular || R.Levels[I].StrideBytes != 0)
      return I;
  return R.Levels.size();
}

bool isStream(const SpreadReference &R, const SpreadTarget &T) {
  size_t I = innermostVarying(R);
  return I < R.Levels.size() && !R.Levels[I].Irregular &&
         magnitude(R.Levels[I].StrideBytes) <= static_cast<double>(T.PrefetchMaxStrideBytes);
}

} // namespace

namespace {

/// pagesTouched(), or, not \p Distinct, the pages entered: dimensions that overlap enter the same page again, which is
/// a miss again once the dimension does not fit the reach.
double pagesEntered(const SpreadReference &R, unsigned Depth, uint64_t PageBytes, bool Distinct) {
  const double Page = static_cast<double>(PageBytes);
  const double Limit = objectPages(R, PageBytes);
  const size_t End = std::min<size_t>(Depth, R.Levels.size());
  std::vector<std::pair<double, double>> Dimensions; // stride, trip
  double Draws = 1;
  bool Irregular = false;
  for (size_t I = 0; I < End; ++I) {
    const SpreadLevel &L = R.Levels[I];
    if (L.Irregular) {
      Irregular = true;
      Draws *= static_cast<double>(L.Trip);
    } else if (L.StrideBytes != 0 && L.Trip > 1) {
      Dimensions.emplace_back(magnitude(L.StrideBytes), static_cast<double>(L.Trip));
    }
  }
  std::sort(Dimensions.begin(), Dimensions.end());
  // Two loops over the same step (the window and the position of a convolution) walk one dimension together.
  for (size_t I = 1; Distinct && I < Dimensions.size();) {
    if (Dimensions[I].first == Dimensions[I - 1].first) {
      Dimensions[I - 1].second += Dimensions[I].second - 1;
      Dimensions.erase(Dimensions.begin() + static_cast<std::ptrdiff_t>(I));
    } else {
      ++I;
    }
  }
  double Block = static_cast<double>(std::max<uint64_t>(R.ElementBytes, 1)), Blocks = 1;
  for (const auto &[Stride, Trip] : Dimensions) {
    if (Blocks == 1 && Stride - Block < Page)
      Block = std::max(Block, Stride * (Trip - 1) + Block);
    else
      Blocks *= Trip;
  }
  // Overlapping dimensions touch no more than what lies between the first and the last address.
  double Span = static_cast<double>(std::max<uint64_t>(R.ElementBytes, 1));
  for (const auto &[Stride, Trip] : Dimensions)
    Span += Stride * (Trip - 1);
  double Affine = std::ceil(Block / Page);
  if (Blocks > 1) {
    Affine = Blocks * ((Block - 1) / Page + 1);
    if (Distinct)
      Affine = std::min(Affine, Span / Page + 1);
  }
  double Pages = Irregular ? distinctOfDraws(Draws * Affine, Limit) : Affine;
  return std::max(1.0, std::min(Pages, Limit));
}

} // namespace

double pagesTouched(const SpreadReference &R, unsigned Depth, uint64_t PageBytes) {
  return pagesEntered(R, Depth, PageBytes, /*Distinct=*/true);
}

std::vector<SpreadResult> nestSpread(const std::vector<SpreadReference> &Given,
                                     const SpreadTarget &T) {
  std::vector<SpreadReference> Nest;
  for (const SpreadReference &R : Given)
    Nest.push_back(bounded(R));
  size_t Depth = 0;
  for (const SpreadReference &R : Nest)
    Depth = std::max(Depth, R.Levels.size());
  // The working set of the innermost k levels, all references together; k levels "fit" while it is within reach.
  const double Reach = static_cast<double>(T.ReachPages);
  size_t Fits = 0;
  for (size_t K = 1; K <= Depth; ++K) {
    double Pages = 0;
    for (const SpreadReference &R : Nest)
      Pages += pagesTouched(R, static_cast<unsigned>(K), T.PageBytes);
    if (Pages > Reach)
      break;
    Fits = K;
  }
  std::vector<SpreadResult> Results;
  for (const SpreadReference &R : Nest) {
    SpreadResult Out;
    const size_t Levels = R.Levels.size();
    Out.Pages = pagesTouched(R, static_cast<unsigned>(Levels), T.PageBytes);
    Out.Accesses = iterations(R, 0, Levels);
    const size_t Varying = innermostVarying(R);
    double Misses;
    if (Fits >= Levels) {
      Misses = Out.Pages; // each page is walked once
    } else if (Varying < Levels && R.Levels[Varying].Irregular && Varying >= Fits) {
      // A random page each time: it is cached with probability reach / pages.
      const double Limit = objectPages(R, T.PageBytes);
      const double Set = std::isinf(Limit) ? Out.Pages : Limit;
      Misses = iterations(R, Varying, Levels) * std::max(0.0, 1.0 - Reach / std::max(Set, 1.0));
      Misses = std::max(Misses, std::min(Out.Pages, iterations(R, Varying, Levels)));
    } else {
      // Level Fits + 1 is the first that does not fit: its pages are loaded once in each of its executions.
      Misses = pagesEntered(R, static_cast<unsigned>(Fits + 1), T.PageBytes, /*Distinct=*/false) *
               iterations(R, Fits + 1, Levels);
    }
    Misses = std::min(Misses, Out.Accesses);
    Out.MissesPerAccess = Out.Accesses > 0 ? Misses / Out.Accesses : 0;
    Out.ExposedPerAccess = isStream(R, T) ? 0 : Out.MissesPerAccess;
    Out.AccessesPerPage = Out.Pages > 0 ? Out.Accesses / Out.Pages : 0;
    Results.push_back(Out);
  }
  return Results;
}

double paperSpread(const SpreadReference &R, uint64_t PageBytes) {
  const size_t First = innermostVarying(R);
  if (First == R.Levels.size())
    return 1;
  const SpreadLevel &Inner = R.Levels[First];
  const double I = static_cast<double>(Inner.Trip);
  bool Contiguous = !Inner.Irregular;
  for (size_t K = First + 1; K < R.Levels.size() && Contiguous; ++K) {
    double Outer = magnitude(R.Levels[K].StrideBytes);
    if (Outer != 0 && Outer < magnitude(Inner.StrideBytes))
      Contiguous = false;
  }
  double Spread =
      Contiguous ? I * magnitude(Inner.StrideBytes) / static_cast<double>(PageBytes) : I;
  for (size_t K = First + 1; K < R.Levels.size(); ++K)
    if (R.Levels[K].Irregular || R.Levels[K].StrideBytes != 0)
      Spread *= static_cast<double>(R.Levels[K].Trip);
  return std::min(Spread, objectPages(R, PageBytes));
}

uint64_t smallestPayingBytes(const SpreadReference &R, const SpreadTarget &T, double MissCycles,
                             double MinCycles) {
  auto Pays = [&](uint64_t Pages) {
    SpreadReference Sized = R;
    Sized.ObjectBytes = Pages * T.PageBytes;
    return nestSpread({Sized}, T)[0].ExposedPerAccess * MissCycles >= MinCycles;
  };
  // Misses grow with the object: bisect over the number of pages.
  uint64_t Low = 1, High = uint64_t(1) << 36;
  if (!Pays(High))
    return UINT64_MAX;
  while (Low < High) {
    uint64_t Middle = Low + (High - Low) / 2;
    if (Pays(Middle))
      High = Middle;
    else
      Low = Middle + 1;
  }
  return Low * T.PageBytes;
}

} // namespace smalloc
