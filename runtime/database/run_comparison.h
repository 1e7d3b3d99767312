// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// judgement.h decides whether a program is slower under its directives than it was on base pages: from its runs with the
// same input on the same host, and only beyond their spread. Each input has a verdict of its own.
#pragma once

#include "runtime/database/history.h"

namespace smalloc::database {

inline constexpr size_t kRunsToCompare = 3;

/// User + system time. REQUIRES: it has some.
double time_of(const Run &run);
/// 0 of nothing.
double median(std::vector<double> values);

struct Judgement {
  size_t base_runs = 0, superpage_runs = 0; ///< that are compared: same host, same input
  std::string host, input;
  double base_seconds = 0, superpage_seconds = 0;        ///< medians of user + system time
  double base_least_seconds = 0, base_most_seconds = 0;  ///< the spread
  int64_t base_peak_bytes = 0, superpage_peak_bytes = 0; ///< medians
  /// Medians, of the runs of which they were counted.
  std::optional<double> base_tlb_misses, superpage_tlb_misses;
  std::optional<double> base_faults, superpage_faults; ///< as these: minor faults
  std::optional<double>
      touch_seconds;   ///< of a superpage, of all that these runs touched in advance
  bool enough = false; ///< to say anything
  bool slower = false;
};

/// The group (host, input) of the latest run under directives, of those with `input` where one is given. slower: each of
/// the last three such runs took longer than every base run, of which there are three or more, and their medians lie more
/// than 1 % apart: by chance that happens once in twenty such histories. Runs of an unknown input are compared with each other only. since_ns: runs under
/// directives of before do not count: those were others.
Judgement judge(const std::vector<Run> &runs, int64_t since_ns = 0,
                const std::optional<std::string> &input = std::nullopt);

/// Each input whose judgement is `slower`, in order; "" is one that nobody knows.
std::vector<std::string> slower_inputs(const std::vector<Run> &runs, int64_t since_ns = 0);

} // namespace smalloc::database
