// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// associativity.h decides how a histogram of a fully associative TLB is read for one with sets:
// each page between two uses falls into the set of the first with probability 1 / sets, so an access of
// distance d hits with the probability that fewer than `ways` of d do (the binomial model of Smith
// 1978, and Hill and Smith 1989).
#pragma once

#include "runtime/reuse/histogram.h"

namespace smalloc::reuse {

/// Expected misses in sets x ways entries; ways 0 means one set of `entries`. First accesses miss.
/// O(distances up to a few times the entries, times ways). Throws std::invalid_argument when entries is 0
/// or not a multiple of ways.
double misses_in_sets(const Histogram &distances, uint64_t entries, uint64_t ways);

} // namespace smalloc::reuse
