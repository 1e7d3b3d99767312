// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// analyze_report.h decides how a profile's ranking becomes a table, the document smalloc.analyze/1, a picture and a
// directives file.
#pragma once

#include "runtime/cli/table.h"
#include "runtime/database/realisation.h"
#include "runtime/directives/directives_file.h"
#include "runtime/format/machine_json.h"
#include "runtime/profile/profile.h"

#include <nlohmann/json.hpp>
#include <string>

namespace smalloc::cli {

/// What was asked for, as far as the results repeat it.
struct AnalyzeWords {
  std::string directives;   ///< the file; empty: none
  std::string significance; ///< the rule's name
  bool has_budget = false;
};

/// What a run should save by what is chosen and directives reach.
struct Expectation {
  double by_calibration = 0; ///< seconds; negative: a loss
  database::Realisation realisation;
  double seconds() const { return by_calibration * realisation.share; }
};
double saved_by_calibration(const Profile &profile, const benefit::CostModel &costs);

/// Nothing was recorded: says nothing about the program, not that it has nothing to gain.
bool is_empty(const Profile &profile);

nlohmann::ordered_json analyze_document(const AnalyzeWords &words, const ProfileOptions &options,
                                        const Profile &profile, const Expectation &expected,
                                        const format::MachineProfile &machine);
std::string analyze_text(const AnalyzeWords &words, const ProfileOptions &options,
                         const Profile &profile, const Expectation &expected, Colour colour);
/// PMB over superpages, a point a mapping (Cascaval et al. 2005, figure 5): SVG.
std::string analyze_plot(const Profile &profile);
/// The first line also says what to expect of a run, for validation (docs/directives.md).
directives::File analyze_directives(const ProfileOptions &options, const Profile &profile,
                                    const Expectation &expected,
                                    const format::MachineProfile &machine);

} // namespace smalloc::cli
