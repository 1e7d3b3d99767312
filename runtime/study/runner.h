// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runner.h runs a command once and measures it. The command gets its own environment and, if the
// configuration says so, no superpages (prctl, inherited). Its footprint is sampled while it runs.
// Time and faults are what the kernel charges to it and its children.
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
  std::map<std::string, std::string> environment; // added to this process's environment
  bool without_thp = false;        // PR_SET_THP_DISABLE: base pages in every THP mode of the system
  bool show_output = false;        // false: its standard output and error go to /dev/null
  int input = -1;                  // standard input of the command; -1: empty
  int errors = -1;                 // its standard error; -1: as show_output says
  double sample_seconds = 1;       // longest pause between samples; the pause starts at 0.02 s and
                                   // doubles
  pmu::PerfSource *perf = nullptr; // source of the PMU's counts; null: none
};

struct RunResult {
  int error = 0;  // errno if the command could not be started
  int status = 0; // exit status, or 128 + signal
  double wall_seconds = 0, user_seconds = 0, system_seconds = 0;
  uint64_t minor_faults = 0, major_faults = 0;
  uint64_t peak_resident_bytes = 0; // of the largest single process
  FootprintSeries footprint;        // of the process and its descendants together
  pmu::Counts events;
};

RunResult run_once(const RunPlan &plan);

// Returns the footprint of a process and its descendants, as far as /proc can be read. Each thread
// of a process has children of its own.
Footprint sample_tree(int process);

} // namespace smalloc::study
