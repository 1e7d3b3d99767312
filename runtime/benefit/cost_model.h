// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cost_model.h decides what misses cost, from a machine profile: MissCycles(M) = TLB misses * C_TLB +
// page faults * C_PF (Cascaval et al. 2005, equation 2), where C_TLB is a curve over the pages that were used since the
// translation was, since what their page tables and data put out of the caches has to be fetched again, and both depend on the page size.
#pragma once

#include "runtime/format/machine_json.h"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace smalloc::benefit {

inline constexpr uint64_t kBasePageBytes = 4096, kSuperpageBytes = uint64_t{2} << 20;

/// What a mapping may put a category on, smallest first.
enum class PageSize : uint8_t { kBase, kMedium, kSuper, kGigantic };
inline constexpr size_t kPageSizes = 4;
constexpr unsigned page_shift(PageSize size) {
  constexpr unsigned shifts[kPageSizes] = {12, 16, 21, 30};
  return shifts[static_cast<size_t>(size)];
}
constexpr uint64_t page_bytes(PageSize size) { return uint64_t{1} << page_shift(size); }

/// What an access waits for when it misses the TLB, which decides what the walk adds to its time.
enum class Walk : uint8_t {
  kWaited, ///< for the whole walk: it waits for the access before it, as in lists and trees
  kOverlapped, ///< for none before it, so that the processor walks for several at once, and fetches their data
  kNear,       ///< as kOverlapped, but its data is in the caches: no fetch hides the walk
  kSequential, ///< it goes on to the next page of a stream, where prefetchers stop and begin anew; see sequential()
};
inline constexpr size_t kMostStreams = 8;
inline constexpr size_t kWalks = static_cast<size_t>(Walk::kSequential) + kMostStreams;
/// Of one of so many streams side by side, 1 to kMostStreams.
constexpr Walk sequential(size_t streams) {
  return static_cast<Walk>(static_cast<size_t>(Walk::kSequential) + streams - 1);
}
/// Of such a walk, how many they are.
constexpr size_t streams_of(Walk walk) {
  return static_cast<size_t>(walk) - static_cast<size_t>(Walk::kSequential) + 1;
}

/// The last level of the data TLB for one page size. ways 0: fully associative.
struct TlbArray {
  uint64_t entries = 0, ways = 0;
};

/// Cycles of a walk over pages: interpolated by the logarithm between the profile's points, constant beyond them but for at_distance.
class WalkCurve {
public:
  using Points = std::vector<std::pair<double, double>>; ///< pages, cycles
  explicit WalkCurve(Points points);
  double at(double pages) const;
  /// Cycles of a miss, so many other pages after the last use of its own, among misses whose distances' logarithms have that standard
  /// deviation. Random accesses to n pages are to cost at(n) on average. Their distances are anything below n alike, whose
  /// logarithms have a deviation of 1; what has a mean of at(n) over them for all n is at(d) and what the curve grows by there for each factor of
  /// e. A loop that comes back to each of n pages in turn has distances of n and no deviation, and costs at(n) as well. Between
  /// the two the deviation's share of the growth. Behind the last point it goes on growing as it came there; by a half at most, and not
  /// by what points tell that lie close.
  double at_distance(double distance, double deviation = 1) const;

private:
  Points points_; ///< ascending, one at least
};

/// Cascaval et al., section 3.3, footnote 1: where Eq. 1 knows no sets, a smaller fully associative TLB stands for one that has some. How
/// much smaller the paper does not say: here one way of each set is left out.
format::MachineProfile without_sets(format::MachineProfile machine);

class CostModel {
public:
  explicit CostModel(const format::MachineProfile &profile);

  const TlbArray &array(PageSize size) const { return arrays_[static_cast<size_t>(size)]; }
  /// The smallest page size of those that one array serves together with this one.
  PageSize owner(PageSize size) const { return owners_[static_cast<size_t>(size)]; }
  /// Does the profile know entries for it? Base pages and 2 MiB are had in any case (unknown: the reach; 32 entries).
  bool has(PageSize size) const { return array(size).entries != 0; }

  const TlbArray &base() const { return array(PageSize::kBase); }
  const TlbArray &superpage() const { return array(PageSize::kSuper); }
  /// One array serves both: base().
  bool shared() const { return owner(PageSize::kSuper) == PageSize::kBase; }

  /// Cycles of one TLB miss, over how many pages of that size were used since the translation was used last. A superpage's walk is one
  /// level shorter and its page table 512 times smaller: without a point of its own it costs what as many base pages would. Nothing,
  /// where the host backs memory with smaller pages: there superpages miss as base pages do, and what was measured is what a base
  /// page's walk takes longer.
  /// What the profile does not know of a kind of walk costs what it knows of the kind before.
  WalkCurve walk_curve(uint64_t page_bytes, Walk walk = Walk::kWaited) const;
  double miss_cycles(uint64_t page_bytes, double pages, Walk walk = Walk::kWaited) const {
    return walk_curve(page_bytes, walk).at(pages);
  }
  /// Does the profile know what overlapped walks cost?
  bool knows_overlapped() const { return !profile_.overlapped_walk_cost.empty(); }
  /// And what they cost where the data is near?
  bool knows_near() const { return !profile_.overlapped_near_walk_cost.empty(); }
  /// Cycles that a stream takes longer for one page of that size than for as many bytes of a superpage: the difference of what was
  /// measured as read bandwidth. Streams side by side go on in each other's time, and each waits for a share of that (two that are read
  /// 0.6 to 0.7 of it on a Xeon guest, three 0.5, a copy 0.3, two read and one written 0.2). Nothing: one of them was not.
  std::optional<double> crossing_cycles(uint64_t page_bytes) const;
  /// Cycles of one first touch. Without a measurement: on the line through those of base pages and 2 MiB, where both are
  /// measured; else 0.25 ns a byte of page cleared plus 500 ns (a guess, between a bare machine and a virtual one).
  double fault_cycles(uint64_t page_bytes) const;
  /// What a base page costs more that is read before it is written: without a measurement 500 ns, the same guess.
  double second_fault_cycles() const;
  double frequency_hz() const { return frequency_hz_; }

private:
  bool superpages_are_counted(const std::vector<format::WalkCost> &curve) const;

  const format::MachineProfile profile_;
  std::array<TlbArray, kPageSizes> arrays_{};
  std::array<PageSize, kPageSizes> owners_{};
  double frequency_hz_;
};

} // namespace smalloc::benefit
