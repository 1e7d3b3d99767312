// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_programs.h names the command to type after a recording. Traces of one program are
// analysed together, without those of the shells and tools around it.
#pragma once

#include <string>
#include <vector>

namespace smalloc::cli {

// Returns one `smalloc analyze` command per program, at most three, those with the largest traces
// first. If a program has many traces, only the largest are named.
std::vector<std::string> next_analyses(const std::vector<std::string> &traces);

} // namespace smalloc::cli
