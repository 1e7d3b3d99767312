// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// run_lines.h decides which lines of $XDG_STATE_HOME/smalloc/runs/*.jsonl are believed (schema smalloc.run/1, written by
// smalloc/agent/run_report.cpp), and how they get into the history: exactly once, however many commands import at a
// time and wherever one is interrupted, and without losing what a program writes meanwhile.
#pragma once

#include "runtime/database/history.h"

#include <string_view>

namespace smalloc::database {

/// One line. Nothing, and why, for what is no run.
std::optional<Run> parse_run_line(std::string_view line, std::string &why);

struct Imported {
  int64_t runs = 0, known = 0, bad_lines = 0;
};
/// Takes all files in a folder; one that does not exist holds nothing. A file that was taken is gone; one that belongs to
/// somebody else, or is no regular file, stays where it is.
Imported import_runs(const std::string &folder, History &history);

} // namespace smalloc::database
