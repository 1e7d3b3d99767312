// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// analyze_report.h turns the ranking of a profile into a table, the document smalloc.analyze/1, a
// picture, and a directives file.
#pragma once

#include "runtime/cli/table.h"
#include "runtime/database/realisation.h"
#include "runtime/directives/directives_file.h"
#include "runtime/format/machine_json.h"
#include "runtime/profile/profile.h"

#include <nlohmann/json.hpp>
#include <string>

namespace smalloc::cli {

/// Options of the command that the results repeat.
struct AnalyzeWords {
  std::string directives;   ///< file; empty: none
  std::string significance; ///< name of the rule
  bool has_budget = false;
};

/// Time that a run should save with the chosen superpages that directives can reach.
struct Expectation {
  double by_calibration = 0; ///< seconds; negative: a loss
  database::Realisation realisation;
  double seconds() const { return by_calibration * realisation.share; }
};
double saved_by_calibration(const Profile &profile, const benefit::CostModel &costs);

/// True if nothing was recorded. That does not mean that the program has nothing to gain.
bool is_empty(const Profile &profile);

nlohmann::ordered_json analyze_document(const AnalyzeWords &words, const ProfileOptions &options,
                                        const Profile &profile, const Expectation &expected,
                                        const format::MachineProfile &machine);
std::string analyze_text(const AnalyzeWords &words, const ProfileOptions &options,
                         const Profile &profile, const Expectation &expected, Colour colour);
/// Returns an SVG of PMB over superpages, with a point per mapping (Cascaval et al. 2005, figure
/// 5).
std::string analyze_plot(const Profile &profile);
/// Returns the directives. The first line also has the expectation of a run, for validation
/// (docs/reference.md).
directives::File analyze_directives(const ProfileOptions &options, const Profile &profile,
                                    const Expectation &expected,
                                    const format::MachineProfile &machine);

} // namespace smalloc::cli
