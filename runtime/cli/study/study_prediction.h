// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// study_prediction.h computes an upper bound for the gain of superpages before any page is changed:
// misses * cost / cycles (M. Gorman 2010).
//   Misses: counted by the PMU, or from a trace of the program's accesses through an LRU TLB of the
//   machine's reach. For the built-in STREAM they come from the order of its pages.
//   Cost of a miss: the PMU's walk cycles per miss, else the machine's curve at the number of pages
//   in use.
//   Cycles: the PMU's, or user time at the processor's frequency.
#pragma once

#include "runtime/cli/study/study_report.h"
#include "runtime/format/machine_json.h"
#include "runtime/measure/stream.h"

#include <optional>
#include <string>
#include <vector>

namespace smalloc::cli {

struct TracedMisses {
  double misses = 0, accesses = 0;
  double pages = 0; // distinct base pages
};

// Counts the misses of a trace, scaled up if it is a sample. Throws Failure if it cannot be read or
// holds no accesses.
TracedMisses misses_of_trace(const std::string &path, uint64_t reach_pages,
                             uint64_t base_page_bytes);

// Returns the misses of an LRU TLB in the built-in STREAM, simulated page by page. First touches
// are system time and do not count.
TracedMisses misses_of_stream(const calibrate::StreamPlan &plan, uint64_t reach_pages,
                              uint64_t base_page_bytes);

// Returns the cycles of a walk if `pages` base pages are in use; 0 if the profile has no walk
// costs.
double walk_cycles(const format::MachineProfile &profile, double pages);

struct PredictionInput {
  std::string trace;                           // a file; empty: none
  format::MachineProfile profile;              // cost of misses, and reach of the TLB
  std::string command;                         // for messages
  std::optional<calibrate::StreamPlan> stream; // set if the command is `smalloc stream` with this
                                               // plan
  std::string no_events;                       // why the PMU cannot count; empty: it can
};

// Returns the profile for a study: `machine` if it is given, else the stored profile, else a
// measurement of about 2 s, else this processor's preset. Prints a note if it is not stored.
format::MachineProfile profile_for(const std::string &machine, bool quiet);

class StudyPredictor {
public:
  // Throws Failure if no source has the misses.
  explicit StudyPredictor(const PredictionInput &input);

  // Adds "predictions" to a study's document, one per command. With a second configuration, also
  // adds the measured gain.
  void add_to(nlohmann::ordered_json &document, const Study &study) const;

private:
  format::MachineProfile profile_;
  std::optional<TracedMisses> traced_;
  std::string source_ = "pmu";
  double frequency_hz_ = 0;
};

std::string prediction_text(const nlohmann::ordered_json &document);

} // namespace smalloc::cli
