// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_costs.h measures what pages cost besides translation: first touch including the release,
// collapse of a unit in place, bandwidth of a stream, and the strides that the prefetchers follow.
//
// Memory is touched and released once before the measurement, because a hypervisor may first have
// to find the memory. Values are medians with quartiles; bandwidth is the best of several passes,
// as in STREAM.
#pragma once

#include "runtime/measure/geometry.h"
#include "runtime/measure/prefetch.h"

#include <span>

namespace smalloc::calibrate {

struct CostOfPage {
  uint64_t page_bytes = 0;
  Estimate value;
};

struct PageCosts {
  std::vector<CostOfPage> first_touch_ns, bandwidth_bytes_per_second;
  std::optional<Estimate> read_first_ns; // a base page's second fault, if it is read before it is
                                         // written
  std::optional<Estimate> collapse_ns;
  std::optional<uint64_t> prefetch_max_stride_bytes;
  std::optional<bool> prefetch_crosses_page;
  std::vector<std::string> unknown;
};

struct PageCostsPlan {
  uint64_t superpage_bytes = 0;      // 0: none
  std::vector<uint64_t> other_bytes; // further page sizes that the system provides: 16 and 64 KiB,
                                     // 1 GiB
  uint64_t memory_bytes = 128 << 20; // of the largest buffer, except for streams
  uint64_t stream_bytes = 512 << 20; // of each of the two buffers that measure bandwidth
  double cycles_per_tick = 1, ticks_per_second = 1e9;
  std::function<void(double)> progress = [](double) {};
};

PageCosts measure_page_costs(const PageCostsPlan &plan);

// Returns the largest stride, in an ascending list, up to which the prefetcher keeps up; 0: not
// even the first. It keeps up if loads in sequence cost less than half of loads in random order.
// They must also cost less than twice the median of the four smallest strides. Beyond that, the
// gain is from banks and page tables, not latency.
uint64_t largest_covered_stride(std::span<const StrideLatency> strides, double random_cycles);

// Returns the median with the first and the third quartile.
Estimate quartiles(std::vector<double> values);

} // namespace smalloc::calibrate
