// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// profile_report.h decides how a machine profile reads for people: a line a number, with its range
// and the source that it came from.
#pragma once

#include "runtime/cli/table.h"
#include "runtime/format/machine_json.h"

#include <string>

namespace smalloc::cli {

std::string profile_text(const format::MachineProfile &profile, Colour colour);

} // namespace smalloc::cli
