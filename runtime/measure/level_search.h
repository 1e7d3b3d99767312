// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// level_search.h decides how one round of chases becomes the capacities of one page size: a coarse
// curve, its knees, each refined by bisection to one entry; and how strides of 2^k pages become the
// associativity.
#pragma once

#include "runtime/measure/curve.h"
#include "runtime/measure/latency_source.h"

namespace smalloc::calibrate {

struct FoundLevel {
  double entries = 0;
  double cycles_beyond = 0; // of translation, once the level is exceeded
};

struct LevelSearch {
  std::vector<FoundLevel> levels;
  std::vector<Point> curve; // smoothed
};

// Cycles of translation in a chase: the chase less its dense baseline. The baseline's lines fill
// pages of their own, which `levels` that are already known answer. Noise ratios are appended.
std::optional<double> translation_cycles(LatencySource &source, Chase chase,
                                         std::span<const FoundLevel> levels,
                                         std::vector<double> &noise);

// At most two levels; pages and spacing are those of `form`.
LevelSearch search_levels(LatencySource &source, Chase form, uint64_t most_pages, double grid_ratio,
                          std::vector<double> &noise);

// Ways of a first level of `entries` whose misses cost `cycles_beyond`; 0: fully associative;
// nothing: the index is no power of two of the page number (hashed), or hidden.
std::optional<unsigned> find_ways(LatencySource &source, uint64_t page_bytes, double entries,
                                  double cycles_beyond, std::vector<double> &noise);

} // namespace smalloc::calibrate
