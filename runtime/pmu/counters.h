// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// counters.h decides how several quantities of one run are counted together, and what is done when
// the kernel had to take turns: counts are scaled by the time that each was on.
#pragma once

#include "runtime/pmu/perf_source.h"

#include <array>
#include <span>

namespace smalloc::pmu {

// Nothing where there is no such event, or no PMU.
struct Counts {
  std::array<std::optional<double>, kQuantities> values;
  std::optional<double> &operator[](Quantity q) { return values[static_cast<size_t>(q)]; }
  const std::optional<double> &operator[](Quantity q) const {
    return values[static_cast<size_t>(q)];
  }
};

class Counters {
public:
  Counters(PerfSource &source, std::span<const Quantity> quantities, const Target &target);
  ~Counters();
  Counters(const Counters &) = delete;
  Counters &operator=(const Counters &) = delete;

  void start();
  void stop();
  Counts read() const;

private:
  PerfSource &source_;
  std::array<int, kQuantities> handles_;
};

} // namespace smalloc::pmu
