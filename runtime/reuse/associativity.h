// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// associativity.h decides how a histogram of a fully associative TLB is read for one with sets:
// each page between two uses falls into the set of the first with probability 1 / sets, so an access of
// distance d hits with the probability that fewer than `ways` of d do (the binomial model of Smith
// 1978, and Hill and Smith 1989).
#pragma once

#include "runtime/reuse/histogram.h"

#include <vector>

namespace smalloc::reuse {

/// The share of accesses of one distance that miss in sets x ways entries; ways 0 means one set of `entries`.
/// Throws std::invalid_argument when entries is 0 or not a multiple of ways.
class MissShare {
public:
  MissShare(uint64_t entries, uint64_t ways);
  /// Distances in ascending order. O(pages since the last one, times ways), until none can hit.
  double at(uint64_t distance);

private:
  uint64_t entries_, distance_ = 0;
  double mine_;                   // share of the pages that fall into a set
  std::vector<double> in_my_set_; // probability of 0, 1, ... of the pages so far; empty: one set
  double hit_ = 1;
};

/// Expected misses in sets x ways entries; ways 0 means one set of `entries`. First accesses miss.
/// O(distances up to a few times the entries, times ways). Throws std::invalid_argument when entries is 0
/// or not a multiple of ways.
double misses_in_sets(const Histogram &distances, uint64_t entries, uint64_t ways);

} // namespace smalloc::reuse
