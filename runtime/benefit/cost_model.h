// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cost_model.h computes what misses cost, from a machine profile: MissCycles(M) = TLB misses *
// C_TLB + page faults * C_PF (Cascaval et al. 2005, equation 2). C_TLB is a curve over the pages
// used since the translation's last use. Their page tables and data displace those of the walk from
// the caches, and it has to fetch them again. Both costs depend on the page size.
#pragma once

#include "runtime/format/machine_json.h"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace smalloc::benefit {

inline constexpr uint64_t kBasePageBytes = 4096, kSuperpageBytes = uint64_t{2} << 20;

/// Page sizes that a mapping may give to a category, smallest first.
enum class PageSize : uint8_t { kBase, kMedium, kSuper, kGigantic };
inline constexpr size_t kPageSizes = 4;
constexpr unsigned page_shift(PageSize size) {
  constexpr unsigned shifts[kPageSizes] = {12, 16, 21, 30};
  return shifts[static_cast<size_t>(size)];
}
constexpr uint64_t page_bytes(PageSize size) { return uint64_t{1} << page_shift(size); }

/// Event that an access waits for when it misses the TLB. The walk's share of the access's time
/// depends on it.
enum class Walk : uint8_t {
  kWaited,     ///< for the whole walk: its address comes from the access before it, as in lists and
               ///< trees
  kOverlapped, ///< for no other access: the processor does several walks at once, and fetches their
               ///< data
  kNear,       ///< as kOverlapped, but its data is in the caches: no fetch hides the walk
  kSequential, ///< for a stream's next page, where prefetchers stop and begin anew; see
               ///< sequential()
};
inline constexpr size_t kMostStreams = 8;
inline constexpr size_t kWalks = static_cast<size_t>(Walk::kSequential) + kMostStreams;
/// Returns the walk of one of `streams` streams side by side, 1 to kMostStreams.
constexpr Walk sequential(size_t streams) {
  return static_cast<Walk>(static_cast<size_t>(Walk::kSequential) + streams - 1);
}
/// Returns the number of streams side by side of a sequential walk.
constexpr size_t streams_of(Walk walk) {
  return static_cast<size_t>(walk) - static_cast<size_t>(Walk::kSequential) + 1;
}

/// The last level of the data TLB for one page size. ways 0: fully associative.
struct TlbArray {
  uint64_t entries = 0, ways = 0;
};

/// Cycles of a walk over pages. Interpolated by the logarithm between the profile's points;
/// constant beyond them, except in at_distance().
class WalkCurve {
public:
  using Points = std::vector<std::pair<double, double>>; ///< pages, cycles
  explicit WalkCurve(Points points);
  double at(double pages) const;
  /// Returns the cycles of a miss, with `distance` other pages used since the last use of its own.
  /// deviation: standard deviation of the logarithms of all the misses' distances. Random accesses
  /// to n pages have to cost at(n) on average. Their distances are spread evenly below n, and the
  /// logarithms have a deviation of 1. The cost of a distance d is then at(d) plus the curve's
  /// growth there for each factor of e: its mean is at(n) for all n. A loop that comes back to each
  /// of n pages in turn has distances of n and no deviation, and costs at(n) as well. Between the
  /// two, the deviation's share of the growth is added. Behind the last point the curve grows as
  /// before it, there by at most a half of at(d). Points that lie close add none.
  double at_distance(double distance, double deviation = 1) const;

private:
  Points points_; ///< ascending, one at least
};

/// Returns `machine` with smaller, fully associative TLBs in place of those with sets, since
/// equation 1 knows no sets (Cascaval et al., section 3.3, footnote 1). The paper does not say how
/// much smaller; here one way of each set is left out.
format::MachineProfile without_sets(format::MachineProfile machine);

class CostModel {
public:
  explicit CostModel(const format::MachineProfile &profile);

  const TlbArray &array(PageSize size) const { return arrays_[static_cast<size_t>(size)]; }
  /// Returns the smallest page size that shares one array with `size`.
  PageSize owner(PageSize size) const { return owners_[static_cast<size_t>(size)]; }
  /// True if the profile has entries for `size`. Base pages and 2 MiB always have some (if unknown:
  /// the reach; 32 entries).
  bool has(PageSize size) const { return array(size).entries != 0; }

  const TlbArray &base() const { return array(PageSize::kBase); }
  const TlbArray &superpage() const { return array(PageSize::kSuper); }
  /// True if one array, base(), serves both.
  bool shared() const { return owner(PageSize::kSuper) == PageSize::kBase; }

  /// Returns the cycles of one TLB miss, over the pages of that size used since the translation's
  /// last use. A superpage's walk is one level shorter and its page table 512 times smaller:
  /// without a point of its own it costs what as many base pages would.
  /// It costs nothing if the host backs memory with smaller pages: then superpages miss as often as
  /// base pages, and the measured cycles are the difference between both walks.
  /// A kind of walk that the profile does not know costs as much as the kind before it.
  WalkCurve walk_curve(uint64_t page_bytes, Walk walk = Walk::kWaited) const;
  /// True if the profile has the cost of overlapped walks.
  bool knows_overlapped() const { return !profile_.overlapped_walk_cost.empty(); }
  /// True if the profile has their cost for near data.
  bool knows_near() const { return !profile_.overlapped_near_walk_cost.empty(); }
  /// Returns the cycles that a stream takes longer for one page of that size than for as many bytes
  /// of a superpage: the difference of the measured read bandwidths. Streams side by side overlap,
  /// so each waits for a share of these cycles. Shares on a Xeon guest: two streams that are read
  /// 0.6 to 0.7, three 0.5, a copy 0.3, two read and one written 0.2. Returns nothing if one of the
  /// bandwidths was not measured.
  std::optional<double> crossing_cycles(uint64_t page_bytes) const;
  /// Returns the cycles of one first touch. Without a measurement it lies on the line through those
  /// of base pages and 2 MiB, if both are measured. Else it is 0.25 ns a byte of page cleared plus
  /// 500 ns (a guess, between a bare machine and a virtual one).
  double fault_cycles(uint64_t page_bytes) const;
  /// Returns the additional cycles of a base page that is read before it is written. Without a
  /// measurement: 500 ns, the same guess.
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
