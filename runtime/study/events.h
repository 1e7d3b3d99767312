// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// events.h decides which events of the PMU are counted: the generic ones of perf_event_open, which
// the kernel maps to each processor's own. In most virtual machines there are none; then every
// answer is "nothing", and no run is disturbed.
#pragma once

#include "runtime/study/runner.h"

#include <array>

namespace smalloc::study {

class EventCounters {
public:
  // Counts a process, and what it starts, from its next exec on. 0: nothing is counted.
  explicit EventCounters(int process);
  ~EventCounters();
  EventCounters(const EventCounters &) = delete;
  EventCounters &operator=(const EventCounters &) = delete;

  // Scaled when the kernel had to take turns (more events than counters).
  Events read() const;

private:
  std::array<int, 5> fds_;
};

// A PMU counts cycles here, and may be used.
bool events_available();

} // namespace smalloc::study
