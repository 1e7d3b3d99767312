// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// associativity.h estimates the misses of a TLB with sets from the distances in a fully associative
// one. Each page between two uses falls into the set of the first with probability 1 / sets. So an
// access of distance d hits with the probability that fewer than `ways` of d pages do. This is the
// binomial model of Smith 1978, and Hill and Smith 1989.
#pragma once

#include <cstdint>
#include <vector>

namespace smalloc::reuse {

/// Share of accesses of one distance that miss in sets x ways entries; ways 0 means one set of
/// `entries`. Throws std::invalid_argument if entries is 0 or not a multiple of ways.
class MissShare {
public:
  MissShare(uint64_t entries, uint64_t ways);
  /// Returns the share of `distance`. REQUIRES: distances in ascending order. O(pages since the
  /// last one, times ways), until none can hit.
  double at(uint64_t distance);

private:
  uint64_t entries_, distance_ = 0;
  double mine_;                   // share of the pages that fall into one set
  std::vector<double> in_my_set_; // probability that 0, 1, ... of the pages so far fall into this
                                  // set; empty: one set
  double hit_ = 1;
};

} // namespace smalloc::reuse
