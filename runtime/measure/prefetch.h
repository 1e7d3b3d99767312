// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// prefetch.h measures the hardware prefetchers with dependent loads from memory that no cache
// holds: in sequence with each stride, and in random order.
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
  // Cost of reading every fourth line of each page, with the pages in order or at random. They
  // differ if a prefetcher continues across the page's end.
  double next_page_cycles = 0, random_page_cycles = 0;
};

// Measures the latencies. Precondition: both regions are resident and zero. Reading `evicts`
// empties the caches between two measurements.
PrefetchLatencies measure_prefetch(const PageRegion &region, const PageRegion &evicts,
                                   double cycles_per_tick);

} // namespace smalloc::calibrate
