// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// array_misses.h computes the cost of one TLB array's misses under one mapping. A miss is priced by
// the number of the array's pages used since the page's last use (reuse/distance_counter.h). If
// every access is in the trace, the array's sets are simulated one by one to find the misses. In a
// sample, the binomial correction (reuse/associativity.h) gives the share of each distance that
// misses.
//
// For near data (near_lines.h) the lines of page tables count, too (table_lines.h).
//
// A first touch, and a miss whose distance is not in the trace, is priced by all pages in use.
#pragma once

#include "runtime/benefit/cost_model.h"
#include "runtime/benefit/missed_distances.h"
#include "runtime/reuse/distance_counter.h"
#include "runtime/reuse/set_lists.h"

#include <array>
#include <optional>
#include <vector>

namespace smalloc::benefit {

class ArrayMisses {
public:
  /// Creates the counts of an array. rate: share of the pages that are in the trace. weight:
  /// accesses that each recorded one stands for. all_miss: every access misses, and nothing is
  /// looked up. touched: for several cores' arrays, the pages that one of them has accessed;
  /// nullptr: there is one core.
  ArrayMisses(const TlbArray &tlb, double rate, double weight, bool all_miss = false,
              reuse::PageIndex *touched = nullptr);

  /// Bit in the number of a superpage that is also a region of the sample: all of its accesses are
  /// in the trace, or none.
  static constexpr uint64_t kByRegion = uint64_t{1} << 31;
  /// Adds an access. number: of the page, below 2^60. table_pages: for a walk near data, see
  /// table_lines.h; 0: not known.
  void add(uint64_t number, PageSize size, Walk walk, uint32_t table_pages = 0);
  /// Processes the accesses added since the last call.
  void run();

  /// Forgets pages that the program has given back to the kernel: the next access to each is a
  /// first touch again. first, end: the first number, and one behind the last. REQUIRES: run(), of
  /// all arrays that share `touched`.
  void forget(uint64_t first, uint64_t end, PageSize size);

  /// Begins counting: pages accessed so far stay touched and in the TLB, but nothing of it is
  /// counted. REQUIRES: run().
  void start_counting();

  /// Returns the first touches of pages of that size in the whole program. A page counts again
  /// after it has been given back.
  double pages(PageSize size) const { return in_program(touched_, size); }
  /// Returns these and the first touches before start_counting().
  double pages_in_use(PageSize size) const { return pages(size) + in_program(before_, size); }
  struct Cost {
    double misses = 0, cycles = 0;
  };
  /// Returns the cost in the whole program, first touches included. curves: by Walk. in_use: pages
  /// in use of the size whose walk is priced.
  Cost cost(const std::vector<WalkCurve> &curves, double in_use) const;

private:
  struct Added {
    Walk walk;
    uint32_t table_pages;
  };
  struct Touched {
    std::array<uint64_t, kPageSizes> pages{};
    uint64_t regions = 0; ///< superpages that are regions of the sample
  };
  double in_program(const Touched &touched, PageSize size) const;
  void use(uint64_t page, Added how);
  /// True if no core has accessed the page before.
  bool is_first_touch(uint64_t page);
  bool is_exact() const { return rate_ == 1 && weight_ == 1; }
  template <class Visit> void for_each_part(const MissedDistances &of, const Visit &visit) const;
  /// Returns the standard deviation of the logarithms of the distances that missed, for
  /// WalkCurve::at_distance().
  double deviation_of(const MissedDistances &of) const;

  TlbArray tlb_;
  double rate_, weight_;
  bool all_miss_;
  reuse::PageIndex *known_;             ///< pages known to any core's array
  std::optional<reuse::SetLists> sets_; ///< if every access is in the trace, and the array has sets
  reuse::DistanceCounter order_;
  std::vector<uint64_t> pages_;
  std::vector<Added> added_; ///< parallel to pages_
  uint64_t last_page_ = UINT64_MAX;
  Touched touched_, before_;
  // By Walk. distances_: misses of known distance, or in a sample all accesses of known distance.
  // first_: first touches. unknown_: misses of unknown distance.
  std::array<MissedDistances, kWalks> distances_;
  std::array<double, kWalks> first_{}, unknown_{};
};

} // namespace smalloc::benefit
