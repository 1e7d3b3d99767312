// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// counters.h counts several quantities of one run together. If the kernel multiplexed the events,
// each count is scaled by enabled time / running time.
#pragma once

#include "runtime/pmu/perf_source.h"

#include <array>
#include <span>

namespace smalloc::pmu {

// Counts of a run. A value is absent if the processor has no such event or there is no PMU.
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
