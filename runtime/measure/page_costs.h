// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_costs.h decides what pages cost besides translation: the first touch with the release at the end, the collapse of a unit
// in place, the bandwidth of a stream, and how far the prefetchers follow a stride.
//
// Memory is touched and given back once before anything counts: a hypervisor that has to find the
// memory first would be measured otherwise. Values are medians with quartiles; bandwidth is the
// best of several passes, as with STREAM.
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
  std::optional<Estimate> read_first_ns; // a base page's second fault
  std::optional<Estimate> collapse_ns;
  std::optional<uint64_t> prefetch_max_stride_bytes;
  std::optional<bool> prefetch_crosses_page;
  std::vector<std::string> unknown;
};

struct PageCostsPlan {
  uint64_t superpage_bytes = 0;      // 0: none
  std::vector<uint64_t> other_bytes; // further sizes that the system gives: 16 and 64 KiB, 1 GiB
  uint64_t memory_bytes = 128 << 20; // of the largest buffer, but for streams
  uint64_t stream_bytes = 512 << 20; // of one of the two that bandwidth is measured with
  double cycles_per_tick = 1, ticks_per_second = 1e9;
  std::function<void(double)> progress = [](double) {};
};

PageCosts measure_page_costs(const PageCostsPlan &plan);

// The largest stride of an ascending list up to which the prefetcher keeps up: loads in sequence
// cost less than half of loads in random order, and less than twice what the four smallest strides
// cost (beyond that, what is saved is banks and page tables, not latency). 0: not even the first.
uint64_t largest_covered_stride(std::span<const StrideLatency> strides, double random_cycles);

// Median with the first and the third quartile.
Estimate quartiles(std::vector<double> values);

} // namespace smalloc::calibrate
