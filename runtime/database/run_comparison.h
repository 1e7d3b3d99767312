// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// run_comparison.h tests whether a program is slower under its directives than it was on base
// pages. It compares runs with the same input on the same host, and counts only a difference beyond
// their spread. Each input is compared by itself.
#pragma once

#include "runtime/database/history.h"

namespace smalloc::database {

inline constexpr size_t kRunsToCompare = 3;

/// Returns user + system time. REQUIRES: the run has a user time.
double time_of(const Run &run);
/// Returns the median; 0 for no values.
double median(std::vector<double> values);

struct Judgement {
  size_t base_runs = 0, superpage_runs = 0; ///< runs compared: same host, same input
  std::string host, input;
  double base_seconds = 0, superpage_seconds = 0;        ///< medians of user + system time
  double base_least_seconds = 0, base_most_seconds = 0;  ///< the spread
  int64_t base_peak_bytes = 0, superpage_peak_bytes = 0; ///< medians
  /// Medians of the runs in which they were counted.
  std::optional<double> base_tlb_misses, superpage_tlb_misses;
  std::optional<double> base_faults, superpage_faults; ///< medians of minor faults, likewise
  std::optional<double>
      touch_seconds;   ///< of a superpage, over all that these runs touched in advance
  bool enough = false; ///< enough runs for a result
  bool slower = false;
};

/// Compares the runs of one group (host, input): that of the latest run under directives, or of the
/// latest one with `input` if given. It needs three base runs or more. slower: each of the last
/// three runs under directives took longer than every base run, and the medians lie more than 1 %
/// apart. By chance that happens in at most one of twenty histories (with three base runs and three
/// under directives). Runs of an unknown input are compared with each other only. since_ns: earlier
/// runs under directives do not count, since those directives were others.
Judgement judge(const std::vector<Run> &runs, int64_t since_ns = 0,
                const std::optional<std::string> &input = std::nullopt);

/// Returns each input that is `slower`, in order; "" is the unknown input.
std::vector<std::string> slower_inputs(const std::vector<Run> &runs, int64_t since_ns = 0);

} // namespace smalloc::database
