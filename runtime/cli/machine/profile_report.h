// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// profile_report.h shows a machine profile: a row per number, with its range and source. If the
// profile has a clock rate, a row shows cycles in nanoseconds as well.
#pragma once

#include "runtime/cli/table.h"
#include "runtime/format/machine_json.h"

#include <optional>
#include <string>
#include <vector>

namespace smalloc::cli {

/// Returns the profile in a document of the form smalloc.machine/1, or none if it is refused.
std::optional<format::MachineProfile> profile_in(const std::string &document);

struct ProfileRow {
  std::string what, value, source;
};
std::vector<ProfileRow> profile_rows(const format::MachineProfile &profile);
/// Returns the name and the reach.
std::string profile_title(const format::MachineProfile &profile);

std::string profile_text(const format::MachineProfile &profile, Colour colour);

} // namespace smalloc::cli
