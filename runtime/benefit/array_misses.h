// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// array_misses.h decides what the misses of one TLB array under one mapping cost: each is priced by how many pages of the array were used
// since its own was (reuse/distance_counter.h). Whether an access misses is seen in the array's sets, one by one, where every access is
// in the trace; in a sample the binomial correction (reuse/associativity.h) tells how many of each distance do.
//
// Beside near data (near_lines.h) nothing else comes from far away, and it shows which lines of page tables the walk finds: such a miss is
// priced by the lines that were used since its own was, in as many pages side by side, if these are more than the pages. Rows that
// are four pages apart use two pages of a line, and four times as many lines as so many pages side by side.
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
  /// all_miss: nothing is looked up. near: there are walks of that kind.
  ArrayMisses(const TlbArray &tlb, double rate, double weight, bool all_miss = false,
              bool near = false);

  /// number: of the page, below 2^60.
  void add(uint64_t number, PageSize size, Walk walk);
  /// Follows what was added since the last time.
  void run();

  /// What follows is added later: the program has given the pages back to the kernel, which gives them again at the next touch.
  /// numbers: first, and one behind the last.
  void forget(uint64_t first, uint64_t end, PageSize size);

  /// Pages of that size when they were touched first, in the whole program; again when they had been given back.
  double pages(PageSize size) const;
  struct Cost {
    double misses = 0, cycles = 0;
  };
  /// Of the whole program, first touches included. curves: by Walk. in_use: pages of the size whose walk is priced.
  Cost cost(const std::array<WalkCurve, kWalks> &curves, double in_use) const;

private:
  void use(uint64_t page, Walk walk);
  void missed(uint64_t page, uint64_t distance, Walk walk);
  bool is_exact() const { return rate_ == 1 && weight_ == 1; }

  TlbArray tlb_;
  double rate_, weight_;
  bool all_miss_, near_;
  std::optional<reuse::SetLists> sets_; ///< where every access is told, and there are sets
  reuse::DistanceCounter order_;
  reuse::DistanceCounter table_lines_; ///< where walks may be near
  std::vector<uint64_t> pages_;
  std::vector<Walk> walks_; ///< of pages_
  uint64_t last_page_ = UINT64_MAX;
  std::array<uint64_t, kPageSizes> touched_pages_{};
  // By Walk: those of known distance that missed, or all that a sample holds; the others that missed.
  std::array<MissedDistances, kWalks> distances_;
  std::array<double, kWalks> first_{}, unknown_{};
};

} // namespace smalloc::benefit
