// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// latency_source.h decides what the estimators may ask of a machine: the latency of one dependent
// load in a random walk over so many lines, or what one takes where loads do not wait for each other. The real machine answers by a pointer chase
// (pointer_chase.h), tests by a simulated TLB, so that no estimator is tested on the timing of the
// day.
#pragma once

#include <cstdint>
#include <optional>

namespace smalloc::calibrate {

// One line a page (or one every stride_bytes), visited in a random single cycle.
struct Chase {
  uint64_t page_bytes = 4096;   // pages that the memory is asked to be on
  uint64_t stride_bytes = 4096; // distance of two lines; lines are staggered within it
  uint64_t lines = 0;
  // The same number of lines packed side by side: what the data caches alone cost.
  bool dense = false;
  // Every second line lies on a page of this size instead, at that size's distance; 0: none.
  uint64_t other_page_bytes = 0;
  // Addresses come from a list: the processor has as many loads, and page walks, under way at once as it can.
  bool independent = false;
  // So many lines of each page (or stride) take turns: in one random order of all, or, of independent loads, by chance. The caches are
  // full of data, as in a program that uses what it has, and page tables come from as far away as there.
  uint64_t lines_a_page = 1;
};

struct Latency {
  double cycles = 0;      // per load: the least of many short repeats
  double noise_ratio = 1; // median of the repeats over the least
};

// Repeats of a chase that differ by more were disturbed.
constexpr double kNoisyRatio = 1.1;

class LatencySource {
public:
  LatencySource() = default;
  LatencySource(const LatencySource &) = delete;
  LatencySource &operator=(const LatencySource &) = delete;
  virtual ~LatencySource() = default;
  // Nothing when such memory is not to be had.
  virtual std::optional<Latency> chase(const Chase &chase) = 0;
  // Most lines that a chase of this form may have.
  virtual uint64_t max_lines(uint64_t page_bytes, uint64_t stride_bytes) const = 0;
  // Pages that packed lines lie on.
  virtual uint64_t base_page_bytes() const { return 4096; }
  // Base pages anew from the kernel for what follows: a round must not inherit the luck of the one before.
  virtual void refresh() {}
};

} // namespace smalloc::calibrate
