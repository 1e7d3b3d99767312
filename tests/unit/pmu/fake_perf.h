// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fake_perf.h simulates a PMU. Each quantity has a rate per unit of work; runs may have different
// work, events may be refused, and the kernel may multiplex.
#pragma once

#include "runtime/pmu/perf_source.h"

#include <map>
#include <vector>

namespace smalloc::pmu {

class FakePerf : public PerfSource {
public:
  std::map<Quantity, double> rates; // counts per unit of work; absent: no such event
  std::map<Quantity, int> refused;  // errno of open
  std::vector<double> work_of_run;  // units of run i; the last one for all later runs
  uint64_t enabled = 1000, running = 1000;
  std::vector<Target> targets; // targets of all open() calls
  size_t open_handles = 0, runs = 0;

  // Performs one run of work; enabled events count it.
  void work() {
    const double units =
        work_of_run.empty() ? 1 : work_of_run[std::min(runs, work_of_run.size() - 1)];
    runs++;
    for (Handle &handle : handles_)
      if (handle.on)
        handle.count += units * rates[handle.quantity];
  }

  std::optional<EventCode> event(Quantity quantity) override {
    if (!rates.count(quantity))
      return std::nullopt;
    return EventCode{0, static_cast<uint64_t>(quantity), 0, 0, "fake"};
  }
  int open(const EventCode &code, const Target &target) override {
    const auto quantity = static_cast<Quantity>(code.config);
    if (refused.count(quantity))
      return -refused[quantity];
    targets.push_back(target);
    open_handles++;
    handles_.push_back({quantity, target.from_exec, 0});
    if (target.from_exec) // the test does not run the process, which does one unit of work
      handles_.back().count = rates[quantity];
    return static_cast<int>(handles_.size() - 1);
  }
  void enable(int handle, bool on) override { handles_.at(static_cast<size_t>(handle)).on = on; }
  std::optional<Reading> read(int handle) override {
    // An event that was on for part of the time has counted that part.
    const double share = static_cast<double>(running) / static_cast<double>(enabled);
    return Reading{
        static_cast<uint64_t>(handles_.at(static_cast<size_t>(handle)).count * share + 0.5),
        enabled, running};
  }
  void close(int handle) override {
    handles_.at(static_cast<size_t>(handle)).on = false;
    open_handles--;
  }

private:
  struct Handle {
    Quantity quantity;
    bool on;
    double count;
  };
  std::vector<Handle> handles_;
};

} // namespace smalloc::pmu
