// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fake_perf.h decides what a PMU of a test counts: a rate a unit of work for each quantity, more or
// less work in each run, events that cannot be opened, a kernel that takes turns.
#pragma once

#include "runtime/pmu/perf_source.h"

#include <cerrno>
#include <map>
#include <vector>

namespace smalloc::pmu {

class FakePerf : public PerfSource {
public:
  std::map<Quantity, double> rates; // counted a unit of work; absent: no such event
  std::map<Quantity, int> refused;  // errno of open
  std::vector<double> work_of_run;  // units of run i; the last for all that follow
  uint64_t enabled = 1000, running = 1000;
  std::vector<Target> targets; // of every open
  size_t open_handles = 0, runs = 0;

  // The work itself: what is switched on counts it.
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
    if (target.from_exec) // the process is not run by the test: it does one unit of work
      handles_.back().count = rates[quantity];
    return static_cast<int>(handles_.size() - 1);
  }
  void enable(int handle, bool on) override { handles_.at(static_cast<size_t>(handle)).on = on; }
  std::optional<Reading> read(int handle) override {
    // What was on for a part of the time has counted that part.
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
