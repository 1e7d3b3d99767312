// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runner.h decides how one run of a command is started, watched and counted: with an environment of
// its own, without superpages where the configuration says so (prctl, inherited), its footprint
// sampled while it runs, its time and faults as the kernel charges them to it and to its children.
#pragma once

#include "runtime/pmu/counters.h"
#include "runtime/study/footprint.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smalloc::study {

struct RunPlan {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment; // added to ours
  bool without_thp = false;        // PR_SET_THP_DISABLE: base pages, whatever the system's mode is
  bool show_output = false;        // else standard output and error go to /dev/null
  double sample_seconds = 1;       // earlier at first: 0.02, 0.05, 0.1, ... up to this
  pmu::PerfSource *perf = nullptr; // the PMU's counts; null: none are taken
};

struct RunResult {
  int error = 0;  // errno of a command that could not be started
  int status = 0; // exit status; 128 + signal
  double wall_seconds = 0, user_seconds = 0, system_seconds = 0;
  uint64_t minor_faults = 0, major_faults = 0;
  uint64_t peak_resident_bytes = 0; // of the largest single process
  FootprintSeries footprint;        // of the process and its children together
  pmu::Counts events;
};

RunResult run_once(const RunPlan &plan);

// A process and all that it started, as far as they can be read.
Footprint sample_tree(int process);

} // namespace smalloc::study
