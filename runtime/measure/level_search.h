// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// level_search.h finds the TLB levels of one page size in one round of chases. It measures a coarse
// curve, finds its knees, and refines each by bisection to one entry. find_ways() finds the
// associativity with strides of 2^k pages.
#pragma once

#include "runtime/measure/curve.h"
#include "runtime/measure/latency_source.h"

namespace smalloc::calibrate {

struct FoundLevel {
  double entries = 0;
  double cycles_beyond = 0; // of translation, when the level is exceeded
};

struct LevelSearch {
  std::vector<FoundLevel> levels;
  std::vector<Point> curve; // smoothed
};

// Returns the cycles of translation in a chase: the chase minus its dense baseline. The lines of
// the baseline fill pages of their own; `levels` holds the levels known so far, to correct for
// these. Appends the noise ratios to `noise`.
std::optional<double> translation_cycles(LatencySource &source, Chase chase,
                                         std::span<const FoundLevel> levels,
                                         std::vector<double> &noise);

// Finds at most two levels, with the page size and spacing of `form`.
LevelSearch search_levels(LatencySource &source, Chase form, uint64_t most_pages, double grid_ratio,
                          std::vector<double> &noise);

// Returns the ways of a first level with `entries` whose misses cost `cycles_beyond`. 0: fully
// associative. Nothing: the set index is not the lowest bits of the page number (a hash chooses the
// set), or there is not enough memory for the strides.
std::optional<unsigned> find_ways(LatencySource &source, uint64_t page_bytes, double entries,
                                  double cycles_beyond, std::vector<double> &noise);

} // namespace smalloc::calibrate
