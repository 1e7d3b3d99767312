// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_programs.h decides what is to be typed after a recording: traces of one program belong together, those of the shells and
// tools around it do not.
#pragma once

#include <string>
#include <vector>

namespace smalloc::cli {

// A command a program, those with the most to read first, at most three; of many traces of a program the largest.
std::vector<std::string> next_analyses(const std::vector<std::string> &traces);

} // namespace smalloc::cli
