//===- PageSpread.cpp - pages that a reference touches ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/spread/PageSpread.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace smalloc {
namespace {

double magnitude(int64_t Stride) { return std::fabs(static_cast<double>(Stride)); }

/// Returns the expected number of distinct pages in \p Draws independent draws out of \p Pages.
double distinctOfDraws(double Draws, double Pages) {
  if (std::isinf(Pages))
    return Draws;
  return Pages * -std::expm1(Draws * std::log1p(-1.0 / std::max(Pages, 1.0 + 1e-9)));
}

/// One loop that moves the address.
struct Dimension {
  double Stride, Trip;
  double Least = 0; ///< shortest trip count of a triangular nest; 0: not triangular
};

/// Returns the common divisor of the strides from \p From on; blocks start at its multiples.
uint64_t pitchOf(const std::vector<Dimension> &Dimensions, size_t From) {
  uint64_t Common = 0;
  for (size_t I = From; I < Dimensions.size(); ++I)
    Common = std::gcd(Common, static_cast<uint64_t>(Dimensions[I].Stride));
  return std::max<uint64_t>(Common, 1);
}

/// Returns the average of ceil(c / Phase) for c evenly distributed from \p Shortest to \p Longest.
double averageSteps(double Shortest, double Longest, double Phase) {
  const double Low = std::ceil(Shortest / Phase), High = std::ceil(Longest / Phase);
  if (High <= Low || Longest <= Shortest)
    return High;
  // Integrates the staircase over [Shortest, Longest]. Between steps Low and High it is linear
  // except for the two ends.
  const double First = Low * Phase - Shortest; // length on step Low
  const double Last = Longest - (High - 1) * Phase;
  const double Between = (High - 1 - Low) * Phase * (Low + High) / 2; // steps Low + 1 .. High - 1
  return (First * Low + Between + Last * High) / (Longest - Shortest);
}

/// The loops that move an address.
struct Box {
  std::vector<Dimension> Dimensions;
  double Draws = 1; ///< unpredictable accesses
  bool Irregular = false;
};

Box boxOf(const SpreadReference &R, size_t End) {
  Box Out;
  Out.Dimensions.reserve(End);
  for (size_t I = 0; I < End; ++I) {
    const SpreadLevel &L = R.Levels[I];
    if (L.Irregular) {
      Out.Irregular = true;
      Out.Draws *= static_cast<double>(L.Trip);
    } else if (L.StrideBytes != 0 && L.longest() > 1) {
      Out.Dimensions.push_back({magnitude(L.StrideBytes), static_cast<double>(L.Trip)});
    }
  }
  return Out;
}

/// Returns the loop with which the count of \p L, a level of a triangular nest, varies. A loop that
/// does not move the address only repeats. If its count varies with an outer loop, then so does the
/// count of \p L.
const SpreadLevel &outerOf(const SpreadReference &R, const SpreadLevel &L, size_t End) {
  unsigned Of = L.TripOf;
  while (R.Levels[Of].StrideBytes == 0 && !R.Levels[Of].Irregular && R.Levels[Of].TripMax &&
         R.Levels[Of].TripOf > Of && R.Levels[Of].TripOf < End)
    Of = R.Levels[Of].TripOf;
  return R.Levels[Of];
}

/// Corrects the dimensions of a triangle of two loops that both move the address. The far-apart
/// dimension gets its greatest length, and the close dimension varies along it.
void widenTriangles(const SpreadReference &R, size_t End, std::vector<Dimension> &Dimensions) {
  for (size_t I = 0; I < End; ++I) {
    const SpreadLevel &L = R.Levels[I];
    if (L.TripMax <= L.Trip || L.Irregular || L.StrideBytes == 0)
      continue;
    const bool Whole = L.TripOf < End && L.TripOf < R.Levels.size();
    auto Own = std::find_if(Dimensions.begin(), Dimensions.end(), [&](const Dimension &D) {
      return D.Stride == magnitude(L.StrideBytes) && D.Trip == static_cast<double>(L.Trip);
    });
    if (!Whole || Own == Dimensions.end())
      continue;
    Own->Trip = static_cast<double>(L.TripMax);
    const SpreadLevel &Outer = outerOf(R, L, End);
    if (Outer.Irregular || Outer.StrideBytes == 0)
      continue; // repeats the same elements: the longest execution touches them all
    if (magnitude(L.StrideBytes) < magnitude(Outer.StrideBytes)) {
      Own->Least = static_cast<double>(std::max<uint64_t>(L.TripMin, 1));
      continue;
    }
    auto Close = std::find_if(Dimensions.begin(), Dimensions.end(), [&](const Dimension &D) {
      return D.Stride == magnitude(Outer.StrideBytes) && &D != &*Own;
    });
    if (Close != Dimensions.end())
      Close->Least = std::max(1.0, Close->Trip * static_cast<double>(L.TripMin) /
                                       static_cast<double>(L.TripMax));
  }
}

void sortBySteps(std::vector<Dimension> &Dimensions) {
  for (size_t I = 1; I < Dimensions.size(); ++I) // few, and usually already in order
    for (size_t K = I; K > 0 && Dimensions[K].Stride < Dimensions[K - 1].Stride; --K)
      std::swap(Dimensions[K], Dimensions[K - 1]);
}

/// Joins loops with the same step (window and position of a convolution) to one dimension.
void joinSteps(std::vector<Dimension> &Dimensions) {
  for (size_t I = 1; I < Dimensions.size();) {
    if (Dimensions[I].Stride == Dimensions[I - 1].Stride) {
      Dimensions[I - 1].Trip += Dimensions[I].Trip - 1;
      Dimensions.erase(Dimensions.begin() + static_cast<std::ptrdiff_t>(I));
    } else {
      ++I;
    }
  }
}

/// The blocks without gaps of a page that the close dimensions form.
struct Blocks {
  double Longest, Shortest; ///< bytes
  double Count = 1;         ///< how often the far-apart dimensions repeat a block
  double Share = 1;         ///< the triangle's part of the far-apart dimensions' box
  size_t FirstApart;        ///< index of the first far-apart dimension
};

Blocks blocksOf(const std::vector<Dimension> &Dimensions, double Element, double Page) {
  Blocks Out{Element, Element, 1, 1, Dimensions.size()};
  for (size_t I = 0; I < Dimensions.size(); ++I) {
    const auto &[Stride, Trip, Least] = Dimensions[I];
    if (Out.FirstApart == Dimensions.size() && Stride - Out.Shortest < Page) {
      Out.Shortest =
          std::max(Out.Shortest, Stride * ((Least > 0 ? Least : Trip) - 1) + Out.Shortest);
      Out.Longest = std::max(Out.Longest, Stride * (Trip - 1) + Out.Longest);
    } else {
      Out.FirstApart = std::min(Out.FirstApart, I);
      Out.Count *= Trip;
      if (Least > 0)
        Out.Share *= (Least + Trip) / 2 / Trip;
    }
  }
  return Out;
}

/// Counts the pages that the innermost \p Depth levels touch. \p Distinct: a page shared by
/// overlapping dimensions counts once.
Footprint countPages(const SpreadReference &R, unsigned Depth, uint64_t PageBytes, bool Distinct) {
  const double Page = static_cast<double>(PageBytes);
  const double Element = static_cast<double>(std::max<uint64_t>(R.ElementBytes, 1));
  const double Limit = objectPages(R, PageBytes);
  const size_t End = std::min<size_t>(Depth, R.Levels.size());
  Box Walk = boxOf(R, End);
  widenTriangles(R, End, Walk.Dimensions);
  sortBySteps(Walk.Dimensions);
  if (Distinct)
    joinSteps(Walk.Dimensions);
  const Blocks B = blocksOf(Walk.Dimensions, Element, Page);
  // Overlapping dimensions touch at most the pages between the first and the last address.
  double Span = Element;
  for (const Dimension &D : Walk.Dimensions)
    Span += D.Stride * (D.Trip - 1);
  Footprint Out;
  const double Start = static_cast<double>(R.StartBytes % PageBytes);
  double Affine = Out.PagesPerBlock = std::ceil((Start + B.Longest) / Page);
  if (B.Count > 1) {
    // A block that starts at any multiple of Phase covers on average ((ceil(block / Phase) - 1) *
    // Phase) / page + 1 pages.
    const uint64_t Pitch = pitchOf(Walk.Dimensions, B.FirstApart);
    const double Phase = static_cast<double>(std::gcd(Pitch, PageBytes));
    const double Off = std::fmod(Start, Phase);
    Out.PagesPerBlock =
        (averageSteps(Off + B.Shortest, Off + B.Longest, Phase) - 1) * Phase / Page + 1;
    if (Pitch % PageBytes == 0 && !Walk.Irregular)
      Out.BlockPages = std::max<uint64_t>(Pitch / PageBytes, 1);
    Affine = B.Count * B.Share * Out.PagesPerBlock;
    if (Distinct)
      Affine = std::min(Affine, std::ceil((Start + Span) / Page));
  }
  double Pages = Walk.Irregular ? distinctOfDraws(Walk.Draws * Affine, Limit) : Affine;
  Out.Pages = std::max(1.0, std::min(Pages, Limit));
  return Out;
}

} // namespace

double iterations(const SpreadReference &R, size_t From, size_t To) {
  double N = 1;
  for (size_t I = From; I < To && I < R.Levels.size(); ++I)
    N *= static_cast<double>(R.Levels[I].Trip);
  return N;
}

size_t innermostVarying(const SpreadReference &R) {
  for (size_t I = 0; I < R.Levels.size(); ++I)
    if (R.Levels[I].Irregular || R.Levels[I].StrideBytes != 0)
      return I;
  return R.Levels.size();
}

double objectPages(const SpreadReference &R, uint64_t PageBytes) {
  if (R.ObjectBytes == UINT64_MAX)
    return INFINITY;
  return std::ceil(static_cast<double>(std::max<uint64_t>(R.ObjectBytes, 1)) /
                   static_cast<double>(PageBytes));
}

SpreadReference boundedByObject(SpreadReference R) {
  if (R.ObjectBytes == UINT64_MAX)
    return R;
  for (SpreadLevel &L : R.Levels)
    if (L.TripAssumed && !L.Irregular && L.StrideBytes != 0) {
      double Fits = static_cast<double>(R.ObjectBytes) / magnitude(L.StrideBytes);
      L.Trip = std::max<uint64_t>(1, std::min<uint64_t>(L.Trip, static_cast<uint64_t>(Fits)));
    }
  return R;
}

Footprint footprint(const SpreadReference &R, unsigned Depth, uint64_t PageBytes) {
  return countPages(R, Depth, PageBytes, /*Distinct=*/true);
}

double pagesEntered(const SpreadReference &R, unsigned Depth, uint64_t PageBytes) {
  return countPages(R, Depth, PageBytes, /*Distinct=*/false).Pages;
}

double pagesTouched(const SpreadReference &R, unsigned Depth, uint64_t PageBytes) {
  return countPages(R, Depth, PageBytes, /*Distinct=*/true).Pages;
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

} // namespace smalloc
