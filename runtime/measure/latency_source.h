// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// latency_source.h is the estimators' interface to a machine. It returns the latency of one
// dependent load in a random walk over a number of lines. For independent loads it returns the time
// per load. The real machine answers with a pointer chase (pointer_chase.h), tests with a simulated
// TLB. So no test of an estimator depends on real timing.
#pragma once

#include <cstdint>
#include <optional>

namespace smalloc::calibrate {

// A chase over one line per page (or one every stride_bytes), in a random single cycle.
struct Chase {
  uint64_t page_bytes = 4096;   // page size that is requested for the memory
  uint64_t stride_bytes = 4096; // distance of two lines; each line is staggered within it
  uint64_t lines = 0;
  // Packs the same number of lines side by side: measures the cost of the data caches alone.
  bool dense = false;
  // If not 0, every second line lies on a page of this size, at that size's distance.
  uint64_t other_page_bytes = 0;
  // Loads take their addresses from a list. The processor overlaps as many loads, and page walks,
  // as it can.
  bool independent = false;
  // Number of lines of each page (or stride) that take turns: in one random order of all, or at
  // random if loads are independent. The caches are then full of data, and page tables come from as
  // far away as in a program that uses its data.
  uint64_t lines_a_page = 1;
};

struct Latency {
  double cycles = 0;      // per load: the minimum of many short repeats
  double noise_ratio = 1; // median of the repeats over the minimum
};

// A chase whose noise_ratio exceeds this was disturbed.
constexpr double kNoisyRatio = 1.1;

class LatencySource {
public:
  LatencySource() = default;
  LatencySource(const LatencySource &) = delete;
  LatencySource &operator=(const LatencySource &) = delete;
  virtual ~LatencySource() = default;
  // Returns the latency, or nothing if the memory cannot be had.
  virtual std::optional<Latency> chase(const Chase &chase) = 0;
  // Returns the largest number of lines of a chase with this page size and stride.
  virtual uint64_t max_lines(uint64_t page_bytes, uint64_t stride_bytes) const = 0;
  // Returns the size of the pages that hold packed lines.
  virtual uint64_t base_page_bytes() const { return 4096; }
  // Gets new base pages from the kernel for later chases, so that rounds do not share lucky
  // placement.
  virtual void refresh() {}
};

} // namespace smalloc::calibrate
