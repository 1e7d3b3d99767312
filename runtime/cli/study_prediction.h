// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// study_prediction.h decides how much superpages can bring at most before any page is changed
// (M. Gorman 2010): misses * cost / cycles. Misses come from the PMU, or else from a trace of the
// program's accesses through an LRU TLB of the machine's reach; the cost is the machine's curve at
// the pages that are in use; cycles are the PMU's, or user time at the processor's frequency.
#pragma once

#include "runtime/cli/study_report.h"
#include "runtime/format/machine_json.h"

#include <optional>
#include <string>
#include <vector>

namespace smalloc::cli {

struct TracedMisses {
  double misses = 0, accesses = 0;
  double pages = 0; // distinct base pages
};

// Reads a trace; sampling is made up for. Throws Failure when it cannot be read or holds no
// accesses.
TracedMisses misses_of_trace(const std::string &path, uint64_t reach_pages,
                             uint64_t base_page_bytes);

// Cycles of a walk when so many base pages are in use; 0 when the profile has none.
double walk_cycles(const format::MachineProfile &profile, double pages);

class StudyPredictor {
public:
  // Empty `trace`: the PMU; throws Failure when there is neither. Empty `machine`: the stored
  // profile, else this processor's preset.
  StudyPredictor(const std::string &trace, const std::string &machine,
                 const std::vector<std::string> &command);

  // Adds "predictions" to a study's document: one a command; with a second configuration also what
  // was measured.
  void add_to(nlohmann::ordered_json &document, const Study &study) const;

private:
  format::MachineProfile profile_;
  std::optional<TracedMisses> traced_;
  double frequency_hz_ = 0;
};

std::string prediction_text(const nlohmann::ordered_json &document);

} // namespace smalloc::cli
