// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// profile_report.h prints a machine profile as text: a line per number, with its range and source.
#pragma once

#include "runtime/cli/table.h"
#include "runtime/format/machine_json.h"

#include <string>

namespace smalloc::cli {

std::string profile_text(const format::MachineProfile &profile, Colour colour);

} // namespace smalloc::cli
