// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// study_prediction.h decides how much superpages can bring at most before any page is changed
// (M. Gorman 2010): misses * cost / cycles. Misses come from the PMU, or else from a trace of the
// program's accesses through an LRU TLB of the machine's reach, or, for the built-in STREAM, from the
// order of its pages. A miss costs what the PMU counted for its walks, else what the machine's curve
// says for the pages in use; cycles are the PMU's, or user time at the processor's frequency.
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

// Reads a trace; sampling is made up for. Throws Failure when it cannot be read or holds no
// accesses.
TracedMisses misses_of_trace(const std::string &path, uint64_t reach_pages,
                             uint64_t base_page_bytes);

// What an LRU TLB misses in the built-in STREAM, played page by page. First touches are the system's
// and do not count.
TracedMisses misses_of_stream(const calibrate::StreamPlan &plan, uint64_t reach_pages,
                              uint64_t base_page_bytes);

// Cycles of a walk when so many base pages are in use; 0 when the profile has none.
double walk_cycles(const format::MachineProfile &profile, double pages);

struct PredictionInput {
  std::string trace;                           // a file; empty: none
  format::MachineProfile profile;              // what misses cost, how many pages the TLB reaches
  std::string command;                         // for messages
  std::optional<calibrate::StreamPlan> stream; // the command is `smalloc stream` of this plan
  std::string no_events;                       // why the PMU cannot be asked; empty: it can
};

// The profile that a study reasons with: `machine` if it names one, else the stored one, else what a
// measurement of some 2 s tells, else this processor's preset; a note says so when it is not stored.
format::MachineProfile profile_for(const std::string &machine, bool quiet);

class StudyPredictor {
public:
  // Throws Failure when the misses of no source can be had.
  explicit StudyPredictor(const PredictionInput &input);

  // Adds "predictions" to a study's document: one a command; with a second configuration also what
  // was measured.
  void add_to(nlohmann::ordered_json &document, const Study &study) const;

private:
  format::MachineProfile profile_;
  std::optional<TracedMisses> traced_;
  std::string source_ = "pmu";
  double frequency_hz_ = 0;
};

std::string prediction_text(const nlohmann::ordered_json &document);

} // namespace smalloc::cli
