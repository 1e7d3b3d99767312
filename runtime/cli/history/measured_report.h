// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// measured_report.h compares what runs measured with what was predicted: first touches and TLB
// misses. It lists differences that are so large that the program should be recorded again.
#pragma once

#include "runtime/database/deviation.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace smalloc::cli {

// Returns the prediction of one run, from an analysis of its input; null: no analysis.
nlohmann::ordered_json prediction_json(const database::Analysis *analysis);

// Returns lines of text for the "comparison" of smalloc.db-show/1; empty: nothing was measured.
std::string measured_text(const nlohmann::ordered_json &comparison);

// Returns where `runs`, those of this build, contradict on this host the analyses of any of the
// program's builds. Empty: nowhere, or unknown.
std::vector<database::Deviation> deviations_of(database::History &history,
                                               const std::string &build_id,
                                               const std::vector<database::Run> &runs);
nlohmann::ordered_json deviations_json(const std::vector<database::Deviation> &list);
// Formats the deviations: "4.8e+04 page faults instead of 1.6e+04, 2 of 3 directives hold"; empty:
// none.
std::string deviations_text(const nlohmann::ordered_json &list);

} // namespace smalloc::cli
