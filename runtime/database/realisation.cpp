// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// realisation.cpp selects the runs that show what a prediction was worth, and estimates how sure
// that is.
#include "runtime/database/realisation.h"

#include "runtime/database/run_comparison.h"

#include <algorithm>
#include <cstdint>
#include <map>

namespace smalloc::database {
namespace {

// Standard deviation of a saving predicted by calibration alone from what 15 programs saved
// (docs/evidence/evaluation.md): a quarter.
constexpr double kErrorBefore = 0.25;
// Largest share that is believed. Beyond it something else has changed, for example a heap denser
// than malloc's.
constexpr double kMostShare = 4;

struct Times {
  std::vector<double> seconds;
  void add(const Run &run) {
    if (run.user_seconds)
      seconds.push_back(time_of(run));
  }
  bool enough() const { return seconds.size() >= kRunsToCompare; }
  double least() const { return *std::min_element(seconds.begin(), seconds.end()); }
  // Returns how far the median lies above the least time.
  double open() const { return median(seconds) - least(); }
};

// True if the run had the superpages that were chosen.
bool has_held(const Run &run) {
  bool any = false;
  for (const Validation &v : run.validations) {
    if (v.verdict == "failed" || v.verdict == "short")
      return false;
    any |= v.verdict == "held";
  }
  return any;
}

} // namespace

Realisation realise(const std::vector<Analysis> &analyses, const std::vector<Run> &runs,
                    const std::string &host, const std::string &machine) {
  std::map<std::string, std::vector<const Analysis *>> of_input;
  for (const Analysis &a : analyses)
    if (!a.input.empty())
      of_input[a.input].push_back(&a);
  Realisation r;
  double open = 0; // sum of squares
  for (auto &[input, list] : of_input) {
    Times base;
    for (const Run &run : runs)
      if (run.kind == "base" && run.host == host && run.input == input)
        base.add(run);
    if (!base.enough())
      continue;
    // The latest analysis first; a run belongs to the last analysis before it.
    std::sort(list.begin(), list.end(), [](const Analysis *one, const Analysis *other) {
      return one->created_ns > other->created_ns;
    });
    int64_t until_ns = INT64_MAX;
    for (const Analysis *analysis : list) {
      Times superpages;
      for (const Run &run : runs)
        if (run.kind == "superpages" && run.policy == "same-input" && run.host == host &&
            run.input == input && run.started_ns >= analysis->created_ns &&
            run.started_ns < until_ns && has_held(run))
          superpages.add(run);
      until_ns = analysis->created_ns;
      if (analysis->machine != machine || analysis->saved_seconds.value_or(0) <= 0 ||
          !superpages.enough())
        continue;
      r.inputs++;
      r.base_runs += base.seconds.size();
      r.superpage_runs += superpages.seconds.size();
      r.predicted_seconds += *analysis->saved_seconds;
      r.measured_seconds += base.least() - superpages.least();
      open += base.open() * base.open() + superpages.open() * superpages.open();
      break;
    }
  }
  if (!r.known())
    return r;
  const double before = kErrorBefore * r.predicted_seconds;
  const double weight = before * before / (before * before + open);
  r.share =
      std::clamp(1 + weight * (r.measured_seconds / r.predicted_seconds - 1), 0.0, kMostShare);
  return r;
}

} // namespace smalloc::database
