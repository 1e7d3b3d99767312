//===- NestSpread.cpp - TLB misses of a loop nest ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/spread/NestSpread.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

namespace smalloc {
namespace {

/// Most iterations assumed for an inner loop of unknown count when one iteration of an outer loop
/// is evaluated. An unknown count must not displace the pages of all other references.
constexpr uint64_t AssumedInside = 16;

/// Accesses of a run before the prefetcher follows it: the first, one stride, and the same stride
/// again.
constexpr double Unfollowed = 3;

/// Entries that pages take in the two parts of the TLB. More than the number of pages if the pages
/// crowd into few sets.
struct Load {
  double Base = 0, Super = 0;
  Load &operator+=(const Load &O) {
    Base += O.Base;
    Super += O.Super;
    return *this;
  }
  double total() const { return Base + Super; }
};

/// Distance of two references of a group, in iterations of the loops around them.
struct Distance {
  double Shared = 0;     ///< share of one reference's pages that the other touches too
  size_t CarriedBy = 0;  ///< level whose iterations bring the other reference to the same page
  double Iterations = 0; ///< number of iterations of that level
  bool Ahead = false;    ///< the other reference touches the page first
};

/// Pages of one object that one inner loop touches; ordered by object, then by loop.
struct Part {
  bool Known = false; ///< false: the object is unknown, and Object is the reference's index
  unsigned Object = 0;
  unsigned Inner = 0; ///< number of the inner loop; 0: directly in the outer one
  double Pages = 0, Limit = INFINITY;
  bool Super = false;
  bool sameObject(const Part &O) const { return Known == O.Known && Object == O.Object; }
  bool operator<(const Part &O) const {
    return std::tie(Known, Object, Inner) < std::tie(O.Known, O.Object, O.Inner);
  }
};

class NestMisses {
public:
  NestMisses(const std::vector<SpreadReference> &Given, const SpreadTarget &T) : T(T) {
    Nest.reserve(Given.size());
    Prints.reserve(Given.size());
    for (const SpreadReference &R : Given) {
      Nest.push_back(boundedByObject(R));
      for (size_t I = 0; I < R.Levels.size(); ++I)
        if (SpreadLevel &L = Nest.back().Levels[I]; L.Loop == 0)
          L.Loop = UINT32_MAX - static_cast<unsigned>(R.Levels.size() - I);
      Prints.emplace_back(R.Levels.size() + 1);
    }
    Counts.resize(Nest.size());
  }

  SpreadResult result(size_t Index);

private:
  struct Count {
    size_t Fits = 0; ///< innermost levels whose pages all stay in the TLB
    double Misses = 0;
  };
  const Count &count(size_t Index);
  bool allFit(size_t Index) { return count(Index).Fits >= Nest[Index].Levels.size(); }
  uint64_t pageOf(const SpreadReference &R) const {
    return R.Superpages ? T.SuperpageBytes : T.PageBytes;
  }
  /// True if \p L fits the TLB. Only pages of the same kind compete unless the entries are shared.
  bool fits(const Load &L, const SpreadReference &Of) const {
    if (T.SharedReach)
      return L.total() <= static_cast<double>(T.ReachPages);
    return Of.Superpages ? L.Super <= static_cast<double>(T.SuperpageReach)
                         : L.Base <= static_cast<double>(T.ReachPages);
  }
  double reachOf(const SpreadReference &R) const {
    return static_cast<double>(R.Superpages && !T.SharedReach ? T.SuperpageReach : T.ReachPages);
  }
  /// Returns the footprint of the innermost \p Depth levels of a reference; computes it once.
  const Footprint &print(size_t Index, size_t Depth) const {
    std::optional<Footprint> &Known = Prints[Index][Depth];
    if (!Known)
      Known = footprint(Nest[Index], static_cast<unsigned>(Depth), pageOf(Nest[Index]));
    return *Known;
  }
  const Footprint &print(size_t Index) const { return print(Index, Nest[Index].Levels.size()); }
  double load(const SpreadReference &R, const Footprint &F) const;
  Distance distance(const SpreadReference &A, const SpreadReference &B, size_t Depth) const;
  Load workingSet(unsigned Loop, uint64_t Iterations = UINT64_MAX) const;
  size_t levelsThatFit(size_t Index);
  double groupShare(size_t Index, size_t Fits) const;
  double missesOf(size_t Index, size_t Fits) const;
  double exposedShare(const SpreadReference &R, double Missed) const;

  const SpreadTarget &T;
  std::vector<SpreadReference> Nest;
  mutable std::vector<std::vector<std::optional<Footprint>>>
      Prints; ///< cached footprints of each reference at each depth
  std::map<std::pair<unsigned, bool>, bool> LoopFits;
  std::vector<std::optional<Count>> Counts;
};

/// Returns the TLB entries that a footprint needs. Blocks that start at multiples of g pages use
/// only each g-th set, unless a block is long.
double NestMisses::load(const SpreadReference &R, const Footprint &F) const {
  if (T.Sets <= 1 || R.Superpages)
    return F.Pages;
  const double Common = static_cast<double>(std::gcd(F.BlockPages, T.Sets));
  return F.Pages * std::max(1.0, Common / std::ceil(F.PagesPerBlock));
}

/// Returns the distance of \p B from \p A, decomposed into strides of the innermost \p Depth
/// levels, longest stride first. Each loop reduces the shared part by the share of its iterations
/// that have no counterpart.
Distance NestMisses::distance(const SpreadReference &A, const SpreadReference &B,
                              size_t Depth) const {
  Distance Out;
  double Left = static_cast<double>(B.OffsetBytes - A.OffsetBytes);
  std::vector<size_t> Order;
  for (size_t I = 0; I < std::min(Depth, A.Levels.size()); ++I)
    if (A.Levels[I].StrideBytes != 0 && !A.Levels[I].Irregular)
      Order.push_back(I);
  std::sort(Order.begin(), Order.end(), [&](size_t X, size_t Y) {
    return std::llabs(A.Levels[X].StrideBytes) > std::llabs(A.Levels[Y].StrideBytes);
  });
  double Shared = 1;
  for (size_t I : Order) {
    const double Stride = static_cast<double>(A.Levels[I].StrideBytes);
    const double Steps = std::round(Left / Stride);
    const double Trip = static_cast<double>(A.Levels[I].longest());
    if (Steps == 0 || std::fabs(Steps) >= Trip)
      continue;
    Left -= Steps * Stride;
    Shared *= 1 - std::fabs(Steps) / Trip;
    if (Out.Iterations == 0 || I > Out.CarriedBy) {
      Out.CarriedBy = I;
      Out.Iterations = std::fabs(Steps);
      Out.Ahead = Steps > 0;
    }
  }
  Out.Shared = Shared * std::max(0.0, 1 - std::fabs(Left) / static_cast<double>(pageOf(A)));
  return Out;
}

/// Returns the load of one execution of \p Loop, or of its first \p Iterations. An object counts
/// once. References of one group share pages according to their distance. Successive inner loops
/// count as walking the same part of an object.
Load NestMisses::workingSet(unsigned Loop, uint64_t Iterations) const {
  std::vector<Part> Parts;
  std::vector<size_t> Before; ///< references with a group that were handled before
  for (size_t I = 0; I < Nest.size(); ++I) {
    const SpreadReference &R = Nest[I];
    size_t At = 0;
    while (At < R.Levels.size() && R.Levels[At].Loop != Loop)
      ++At;
    if (At == R.Levels.size())
      continue;
    Footprint F = print(I, At + 1);
    if (Iterations < R.Levels[At].Trip) {
      SpreadReference Begun = R;
      for (size_t I = 0; I < At; ++I) // limits inner loops of unknown count
        if (Begun.Levels[I].TripAssumed)
          Begun.Levels[I].Trip = std::min(Begun.Levels[I].Trip, AssumedInside);
      Begun.Levels[At].Trip = Iterations;
      Begun.Levels[At].TripMin = Begun.Levels[At].TripMax = 0;
      F = footprint(Begun, static_cast<unsigned>(At + 1), pageOf(R));
    }
    double Pages = load(R, F);
    if (R.Group) {
      for (size_t Other : Before)
        if (Nest[Other].Group == R.Group)
          Pages = std::min(Pages, load(R, F) * (1 - distance(R, Nest[Other], At + 1).Shared));
      Before.push_back(I);
    }
    const Part Key{R.Object != 0, R.Object ? R.Object : static_cast<unsigned>(I),
                   At == 0 ? 0 : R.Levels[At - 1].Loop};
    auto P = std::lower_bound(Parts.begin(), Parts.end(), Key);
    if (P == Parts.end() || Key < *P)
      P = Parts.insert(P, Key);
    P->Pages += Pages;
    P->Super = R.Superpages;
    if (T.Sets <= 1)
      P->Limit = objectPages(R, pageOf(R));
  }
  Load Total;
  for (auto P = Parts.begin(); P != Parts.end();) {
    double Pages = 0, Direct = 0;
    const Part First = *P;
    for (; P != Parts.end() && P->sameObject(First); ++P)
      (P->Inner ? Pages : Direct) = std::max(P->Inner ? Pages : Direct, P->Pages);
    (First.Super ? Total.Super : Total.Base) += std::min(Pages + Direct, First.Limit);
  }
  return Total;
}

size_t NestMisses::levelsThatFit(size_t Index) {
  size_t Fits = 0;
  for (const SpreadLevel &L : Nest[Index].Levels) {
    auto [It, New] = LoopFits.try_emplace({L.Loop, Nest[Index].Superpages});
    if (New)
      It->second = fits(workingSet(L.Loop), Nest[Index]);
    if (!It->second)
      break;
    ++Fits;
  }
  return Fits;
}

/// Returns the share of the reference's misses that remain although others of its group were there
/// first.
double NestMisses::groupShare(size_t Index, size_t Fits) const {
  const SpreadReference &R = Nest[Index];
  double Share = 1;
  for (size_t I = 0; R.Group && I < Nest.size(); ++I) {
    if (I == Index || Nest[I].Group != R.Group)
      continue;
    Distance D = distance(R, Nest[I], R.Levels.size());
    if (D.Shared == 0)
      continue;
    // The other reference is first if it is some iterations ahead, or earlier in the same
    // iteration.
    if (D.Iterations > 0 ? !D.Ahead : I > Index)
      continue;
    const bool Kept =
        D.Iterations == 0 || D.CarriedBy < Fits ||
        fits(workingSet(R.Levels[D.CarriedBy].Loop, static_cast<uint64_t>(D.Iterations) + 1), R);
    if (Kept)
      Share = std::min(Share, 1 - D.Shared);
  }
  return Share;
}

double NestMisses::missesOf(size_t Index, size_t Fits) const {
  const SpreadReference &R = Nest[Index];
  const size_t Levels = R.Levels.size(), Varying = innermostVarying(R);
  if (Fits >= Levels)
    return print(Index, Levels).Pages; // one page walk per page
  const bool Picks = Varying < Levels && R.Levels[Varying].Irregular && Varying >= Fits;
  if (Picks || R.Levels[Fits].Irregular) {
    // Each access is to a random place. Its page is cached with probability reach / pages, where
    // pages counts all objects accessed at random in the same loop.
    const size_t Level = Picks ? Varying : Fits;
    std::map<unsigned, double> Sets;
    for (size_t I = 0; I < Nest.size(); ++I) {
      const SpreadReference &Other = Nest[I];
      const bool Joins =
          std::any_of(Other.Levels.begin(), Other.Levels.end(), [&](const SpreadLevel &L) {
            return L.Irregular && L.Loop == R.Levels[Level].Loop;
          });
      if (!Joins || Other.Superpages != R.Superpages)
        continue;
      double Limit = objectPages(Other, pageOf(R));
      if (std::isinf(Limit))
        Limit = I == Index ? print(I).Pages : 0; // an unknown size counts only for itself
      const unsigned Key = Other.Object ? Other.Object : UINT32_MAX - static_cast<unsigned>(I);
      Sets[Key] = std::max(Sets[Key], Limit);
    }
    double Set = 0;
    for (const auto &[Key, Pages] : Sets)
      Set += Pages;
    const double Draws = iterations(R, Level, Levels) * print(Index, Level).Pages;
    return std::max(Draws * std::max(0.0, 1.0 - reachOf(R) / std::max(Set, 1.0)),
                    std::min(print(Index, Levels).Pages, Draws));
  }
  // R.Levels[Fits] is the first level that does not fit. If one iteration of it fits, its pages are
  // loaded once per execution. Otherwise each iteration loads its pages anew, because other loops
  // in it have displaced them.
  if (fits(workingSet(R.Levels[Fits].Loop, 1), R))
    return pagesEntered(R, static_cast<unsigned>(Fits + 1), pageOf(R)) *
           iterations(R, Fits + 1, Levels);
  return print(Index, Fits).Pages * iterations(R, Fits, Levels);
}

/// Returns the share of \p Missed misses that the processor waits for. The prefetcher follows a
/// stream from its fourth access on, so the processor waits only for the first page of each run. If
/// other references displace even the current page, it also waits for the next two misses. A run
/// continues through outer loops that start where the inner one ends.
double NestMisses::exposedShare(const SpreadReference &R, double Missed) const {
  if (R.Prefetched)
    return 0;
  size_t I = innermostVarying(R);
  if (I == R.Levels.size() || R.Levels[I].Irregular || !T.PrefetchCrossesPage ||
      static_cast<uint64_t>(std::llabs(R.Levels[I].StrideBytes)) > T.PrefetchMaxStrideBytes)
    return 1;
  const double Stride = static_cast<double>(R.Levels[I].StrideBytes);
  double Trip = static_cast<double>(R.Levels[I].Trip);
  while (++I < R.Levels.size() && !R.Levels[I].Irregular &&
         (R.Levels[I].Trip == 1 ||
          std::fabs(static_cast<double>(R.Levels[I].StrideBytes) - Stride * Trip) < 1))
    Trip *= static_cast<double>(R.Levels[I].Trip);
  const double Bytes = std::fabs(Stride) * (Trip - 1) + static_cast<double>(R.ElementBytes);
  const double Pages = std::max(1.0, (Bytes - 1) / static_cast<double>(pageOf(R)) + 1);
  const double InRun = Missed * Trip / iterations(R, 0, R.Levels.size());
  if (InRun <= Pages || Trip <= Unfollowed)
    return 1 / Pages;
  return (1 + (Unfollowed - 1) * (InRun - Pages) / (Trip - 1)) / InRun;
}

const NestMisses::Count &NestMisses::count(size_t Index) {
  std::optional<Count> &Known = Counts[Index];
  if (!Known) {
    Known.emplace();
    Known->Fits = levelsThatFit(Index);
    Known->Misses = missesOf(Index, Known->Fits) * groupShare(Index, Known->Fits);
  }
  return *Known;
}

SpreadResult NestMisses::result(size_t Index) {
  const SpreadReference &R = Nest[Index];
  SpreadResult Out;
  Out.Pages = print(Index).Pages;
  Out.Accesses = iterations(R, 0, R.Levels.size());
  double Misses = count(Index).Misses;
  if (R.Object && allFit(Index)) { // all pages stay: one reference first touches each page
    double FirstTouches = 0;
    for (size_t I = 0; I < Nest.size(); ++I)
      if (Nest[I].Object == R.Object && allFit(I))
        FirstTouches += count(I).Misses;
    Misses *= std::min(1.0, objectPages(R, pageOf(R)) / std::max(FirstTouches, 1.0));
  }
  const double Missed = std::min(Misses, Out.Accesses);
  Out.MissesPerAccess = Out.Accesses > 0 ? Missed / Out.Accesses : 0;
  Out.ExposedPerAccess = Out.MissesPerAccess * exposedShare(R, Missed);
  Out.AccessesPerPage = Out.Pages > 0 ? Out.Accesses / Out.Pages : 0;
  return Out;
}

} // namespace

std::vector<SpreadResult> nestSpread(const std::vector<SpreadReference> &Given,
                                     const SpreadTarget &T) {
  NestMisses Nest(Given, T);
  std::vector<SpreadResult> Results;
  for (size_t I = 0; I < Given.size(); ++I)
    Results.push_back(Nest.result(I));
  return Results;
}

SpreadResult spreadOfFirst(const std::vector<SpreadReference> &Given, const SpreadTarget &T) {
  return NestMisses(Given, T).result(0);
}

uint64_t smallestPayingBytes(const SpreadReference &R, const SpreadTarget &T, double MissCycles,
                             double MinCycles) {
  std::vector<SpreadReference> Sized{R};
  auto Pays = [&](uint64_t Pages) {
    Sized[0].ObjectBytes = Pages * T.PageBytes;
    return spreadOfFirst(Sized, T).ExposedPerAccess * MissCycles >= MinCycles;
  };
  // Bisects over the number of pages, since misses grow with the object. Misses usually begin to
  // count soon after the object outgrows the reach. Steps that double from there bound the search.
  uint64_t Low = 1, High = uint64_t(1) << 36;
  if (!Pays(High))
    return UINT64_MAX;
  uint64_t Ahead = T.ReachPages;
  for (uint64_t Step = 1; Ahead < High; Step *= 2, Ahead += Step) {
    if (Pays(Ahead)) {
      High = Ahead;
      break;
    }
    Low = Ahead + 1;
  }
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
