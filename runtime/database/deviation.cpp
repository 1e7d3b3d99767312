// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// deviation.cpp compares the figures of runs with those of their analysis. It ignores differences
// that chance or a program's start explain.
#include "runtime/database/deviation.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace smalloc::database {
namespace {

constexpr double kBasePageBytes = 4096;
constexpr unsigned kBasePageShift = 12;

bool is_off(double measured, double predicted, double least) {
  return std::abs(measured - predicted) > least &&
         (measured > kTimesOff * predicted || predicted > kTimesOff * measured);
}

} // namespace

const Analysis *analysis_of_input(const std::vector<Analysis> &analyses, const std::string &input) {
  const Analysis *latest = nullptr;
  for (const Analysis &a : analyses)
    if (!input.empty() && a.input == input && (a.page_faults_base || a.tlb_misses_base) &&
        (!latest || a.created_ns >= latest->created_ns))
      latest = &a;
  return latest;
}

std::vector<Deviation> deviations(const Analysis *analysis, const Judgement &runs,
                                  bool of_this_machine) {
  std::vector<Deviation> list;
  if (!analysis || !runs.base_faults ||
      kTimesOff * kBasePageBytes * *runs.base_faults < static_cast<double>(runs.base_peak_bytes))
    return list;
  if (analysis->page_faults_base &&
      is_off(*runs.base_faults, *analysis->page_faults_base, kLeastFaultsOff))
    list.push_back({"page_faults", *runs.base_faults, *analysis->page_faults_base});
  if (of_this_machine && analysis->tlb_misses_base && runs.base_tlb_misses &&
      is_off(*runs.base_tlb_misses, *analysis->tlb_misses_base, kLeastMissesOff))
    list.push_back({"tlb_misses", *runs.base_tlb_misses, *analysis->tlb_misses_base});
  return list;
}

std::optional<Deviation> given_up_since(const std::vector<Analysis> &analyses,
                                        const std::vector<Run> &runs,
                                        const directives::File &file) {
  int64_t since_ns = 0;
  for (const Analysis &a : analyses)
    since_ns = std::max(since_ns, a.created_ns);
  std::set<directives::Key> failed;
  for (const Run &run : runs)
    for (const Validation &v : run.validations)
      if (v.verdict == "failed" && run.started_ns > since_ns)
        failed.insert(key_of_directive(v.site, v.context));
  double on_superpages = 0, given_up = 0;
  for (const auto &[key, entry] : file.entries) {
    if (entry.page_shift <= kBasePageShift)
      continue;
    on_superpages++;
    given_up += directives::is_given_up(entry) && failed.contains(key);
  }
  if (given_up == 0)
    return std::nullopt;
  return Deviation{"directives", on_superpages - given_up, on_superpages};
}

} // namespace smalloc::database
