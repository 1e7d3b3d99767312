// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// run_comparison.cpp selects the runs that are comparable, and applies the rule of `slower`.
#include "runtime/database/run_comparison.h"

#include <algorithm>
#include <map>

namespace smalloc::database {
namespace {

constexpr double kLeastDifference = 0.01; // promised bound: never more than 1 % slower
constexpr size_t kMostRuns = 20;          // latest of each kind: programs' surroundings change

double median_of(const std::vector<const Run *> &runs, double (*value)(const Run &)) {
  std::vector<double> values;
  for (const Run *run : runs)
    values.push_back(value(*run));
  return median(values);
}

std::optional<double> median_count(const std::vector<const Run *> &runs,
                                   std::optional<int64_t> Run::*count) {
  std::vector<double> values;
  for (const Run *run : runs)
    if (run->*count)
      values.push_back(static_cast<double>(*(run->*count)));
  return values.empty() ? std::nullopt : std::optional(median(values));
}

std::optional<double> touch_of_a_superpage(const std::vector<const Run *> &runs) {
  double seconds = 0, superpages = 0;
  for (const Run *run : runs) {
    if (!run->touch_seconds || !run->superpages_touched)
      continue;
    seconds += *run->touch_seconds;
    superpages += static_cast<double>(*run->superpages_touched);
  }
  return superpages > 0 ? std::optional(seconds / superpages) : std::nullopt;
}

} // namespace

double time_of(const Run &run) { return *run.user_seconds + run.system_seconds.value_or(0); }

double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Judgement judge(const std::vector<Run> &runs, int64_t since_ns,
                const std::optional<std::string> &input) {
  Judgement j;
  const auto latest_of = [&](const char *kind, int64_t from_ns) {
    return std::find_if(runs.rbegin(), runs.rend(), [&](const Run &r) {
      return r.kind == kind && r.user_seconds && r.started_ns >= from_ns &&
             (!input || r.input == *input);
    });
  };
  const auto latest = latest_of("superpages", since_ns);
  const auto reference = latest != runs.rend() ? latest : latest_of("base", INT64_MIN);
  if (reference == runs.rend())
    return j;
  j.host = reference->host;
  j.input = reference->input;
  std::vector<const Run *> base, superpages;
  for (const Run &run : runs) {
    if (run.host != j.host || run.input != j.input || !run.user_seconds)
      continue;
    if (run.kind == "base")
      base.push_back(&run);
    else if (run.kind == "superpages" && run.started_ns >= since_ns)
      superpages.push_back(&run);
  }
  for (auto *list : {&base, &superpages})
    if (list->size() > kMostRuns)
      list->erase(list->begin(), list->end() - kMostRuns);
  j.base_runs = base.size();
  j.superpage_runs = superpages.size();
  const auto peak = [](const Run &r) { return static_cast<double>(r.peak_bytes.value_or(0)); };
  j.base_seconds = median_of(base, time_of);
  j.superpage_seconds = median_of(superpages, time_of);
  j.base_faults = median_count(base, &Run::minor_faults);
  j.superpage_faults = median_count(superpages, &Run::minor_faults);
  j.base_peak_bytes = static_cast<int64_t>(median_of(base, peak));
  j.superpage_peak_bytes = static_cast<int64_t>(median_of(superpages, peak));
  j.base_tlb_misses = median_count(base, &Run::tlb_misses);
  j.superpage_tlb_misses = median_count(superpages, &Run::tlb_misses);
  j.touch_seconds = touch_of_a_superpage(superpages);
  if (base.empty())
    return j;
  std::vector<double> base_times;
  for (const Run *run : base)
    base_times.push_back(time_of(*run));
  j.base_least_seconds = *std::min_element(base_times.begin(), base_times.end());
  j.base_most_seconds = *std::max_element(base_times.begin(), base_times.end());
  j.enough = base.size() >= kRunsToCompare && superpages.size() >= kRunsToCompare;
  if (!j.enough)
    return j;
  const std::vector<const Run *> last(superpages.end() - kRunsToCompare, superpages.end());
  j.slower = std::all_of(last.begin(), last.end(),
                         [&](const Run *run) { return time_of(*run) > j.base_most_seconds; }) &&
             median_of(last, time_of) > j.base_seconds * (1 + kLeastDifference);
  return j;
}

std::vector<std::string> slower_inputs(const std::vector<Run> &runs, int64_t since_ns) {
  std::map<std::string, std::vector<Run>> by_input;
  for (const Run &run : runs)
    by_input[run.input].push_back(run);
  std::vector<std::string> slower;
  for (const auto &[input, own] : by_input)
    if (own.size() >= 2 * kRunsToCompare && judge(own, since_ns).slower)
      slower.push_back(input);
  return slower;
}

} // namespace smalloc::database
