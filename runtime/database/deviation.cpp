// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// deviation.cpp decides which figures are compared, and what difference is more than chance and a program's start.
#include "runtime/database/deviation.h"

#include <cmath>

namespace smalloc::database {
namespace {

bool is_off(double measured, double predicted, double least) {
  return std::abs(measured - predicted) > least &&
         (measured > kTimesOff * predicted || predicted > kTimesOff * measured);
}

} // namespace

const Analysis *analysis_of_input(const std::vector<Analysis> &analyses, const std::string &input) {
  const Analysis *latest = nullptr;
  for (const Analysis &a : analyses)
    if (!input.empty() && a.input == input && (!latest || a.created_ns >= latest->created_ns))
      latest = &a;
  return latest;
}

std::vector<Deviation> deviations(const Analysis *analysis, const Judgement &runs,
                                  const Realisation &realised, size_t given_up, size_t directives) {
  std::vector<Deviation> list;
  if (analysis && analysis->page_faults_base && runs.base_runs &&
      is_off(runs.base_faults, *analysis->page_faults_base, kLeastFaultsOff))
    list.push_back({"page_faults", runs.base_faults, *analysis->page_faults_base});
  if (analysis && analysis->tlb_misses_base && runs.base_tlb_misses &&
      is_off(*runs.base_tlb_misses, *analysis->tlb_misses_base, kLeastMissesOff))
    list.push_back({"tlb_misses", *runs.base_tlb_misses, *analysis->tlb_misses_base});
  // The share is drawn towards 1 by what the runs leave open.
  if (realised.known() && (realised.share > kTimesOff || realised.share < 1 / kTimesOff)) {
    const auto inputs = static_cast<double>(realised.inputs);
    list.push_back(
        {"saved_seconds", realised.measured_seconds / inputs, realised.predicted_seconds / inputs});
  }
  if (given_up)
    list.push_back({"directives", static_cast<double>(directives - given_up),
                    static_cast<double>(directives)});
  return list;
}

} // namespace smalloc::database
