// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// array_misses.h decides what the misses of one TLB array under one mapping cost: each is priced by how many pages of the array were used
// since its own was (reuse/distance_counter.h). Whether an access misses is seen in the array's sets, one by one, where every access is
// in the trace; in a sample the binomial correction (reuse/associativity.h) tells how many of each distance do.
//
// Beside near data (near_lines.h) the lines of page tables count, too (table_lines.h).
//
// A first touch, and a miss whose distance the trace does not tell, is priced by all pages in use.
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
  /// rate: share of the pages that are in the trace; weight: accesses that each one stands for.
  /// all_miss: nothing is looked up. touched: of several cores' arrays together, pages that one of them has come to before; nullptr:
  /// there is no other.
  ArrayMisses(const TlbArray &tlb, double rate, double weight, bool all_miss = false,
              reuse::PageIndex *touched = nullptr);

  /// In the number of a superpage that is a region of the sample as well: all of its accesses are there, or none.
  static constexpr uint64_t kByRegion = uint64_t{1} << 31;
  /// number: of the page, below 2^60. table_pages: of a walk near data, see table_lines.h; 0: not known.
  void add(uint64_t number, PageSize size, Walk walk, uint32_t table_pages = 0);
  /// Follows what was added since the last time.
  void run();

  /// What follows is added later: the program has given the pages back to the kernel, which gives them again at the next touch.
  /// numbers: first, and one behind the last. REQUIRES: run(), of all that share `touched`.
  void forget(uint64_t first, uint64_t end, PageSize size);

  /// What was added so far is of before: its pages are there and in the TLB, and nothing of it is counted. REQUIRES: run().
  void start_counting();

  /// Pages of that size when they were touched first, in the whole program; again when they had been given back.
  double pages(PageSize size) const { return in_program(touched_, size); }
  /// And those of before.
  double pages_in_use(PageSize size) const { return pages(size) + in_program(before_, size); }
  struct Cost {
    double misses = 0, cycles = 0;
  };
  /// Of the whole program, first touches included. curves: by Walk. in_use: pages of the size whose walk is priced.
  Cost cost(const std::vector<WalkCurve> &curves, double in_use) const;

private:
  struct Added {
    Walk walk;
    uint32_t table_pages;
  };
  struct Touched {
    std::array<uint64_t, kPageSizes> pages{};
    uint64_t regions = 0; ///< of superpages' numbers
  };
  double in_program(const Touched &touched, PageSize size) const;
  void use(uint64_t page, Added how);
  /// Of all cores together.
  bool is_first_touch(uint64_t page);
  bool is_exact() const { return rate_ == 1 && weight_ == 1; }
  template <class Visit> void for_each_part(const MissedDistances &of, const Visit &visit) const;
  /// Of the logarithms of the distances that missed, as WalkCurve::at_distance wants it.
  double deviation_of(const MissedDistances &of) const;

  TlbArray tlb_;
  double rate_, weight_;
  bool all_miss_;
  reuse::PageIndex *known_;             ///< to the other cores' arrays, too
  std::optional<reuse::SetLists> sets_; ///< where every access is told, and there are sets
  reuse::DistanceCounter order_;
  std::vector<uint64_t> pages_;
  std::vector<Added> added_; ///< of pages_
  uint64_t last_page_ = UINT64_MAX;
  Touched touched_, before_;
  // By Walk: those of known distance that missed, or all that a sample holds; the others that missed.
  std::array<MissedDistances, kWalks> distances_;
  std::array<double, kWalks> first_{}, unknown_{};
};

} // namespace smalloc::benefit
