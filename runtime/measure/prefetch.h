// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// prefetch.h decides how the hardware prefetchers are watched at work: dependent loads through
// memory that no cache holds, once in sequence with each stride, once in random order.
#pragma once

#include "runtime/measure/page_region.h"

#include <cstdint>
#include <vector>

namespace smalloc::calibrate {

struct StrideLatency {
  uint64_t stride_bytes = 0;
  double cycles = 0;
};

struct PrefetchLatencies {
  std::vector<StrideLatency> strides; // ascending
  double random_cycles = 0;           // 0: not measured
  // Every fourth line of each page, pages in order or at random: they differ when a prefetcher
  // goes on across the page's end.
  double next_page_cycles = 0, random_page_cycles = 0;
};

// Both regions are resident and zero; reading `evicts` empties the caches between two measurements.
PrefetchLatencies measure_prefetch(const PageRegion &region, const PageRegion &evicts,
                                   double cycles_per_tick);

} // namespace smalloc::calibrate
