// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// measured_report.h decides how what runs had is put beside what was predicted of them: first touches, TLB misses, and in what the
// two differ so far that the program should be recorded again.
#pragma once

#include "runtime/database/deviation.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace smalloc::cli {

// Of one run, by an analysis of its input; null: there is none.
nlohmann::ordered_json prediction_json(const database::Analysis *analysis);

// Lines of text from the "comparison" of smalloc.db-show/1; empty: nothing was measured.
std::string measured_text(const nlohmann::ordered_json &comparison);

// In what the runs of this build on this host contradict the analyses of the program, whichever of its builds was recorded. Empty: in
// nothing, or nobody knows.
std::vector<database::Deviation> deviations_of(database::History &history,
                                               const std::string &build_id);
nlohmann::ordered_json deviations_json(const std::vector<database::Deviation> &list);
// Such as "4.8e+04 page faults instead of 1.6e+04, 2 of 3 directives hold"; empty: none.
std::string deviations_text(const nlohmann::ordered_json &list);

} // namespace smalloc::cli
