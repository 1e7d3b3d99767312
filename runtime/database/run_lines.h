// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// run_lines.h imports the lines of $XDG_STATE_HOME/smalloc/runs/*.jsonl into the history (schema
// smalloc.run/1, written by smalloc/agent/run_report.cpp), and checks them. Each gets there exactly
// once, however many commands import at a time and wherever one is interrupted. Nothing that a
// program writes meanwhile is lost.
#pragma once

#include "runtime/database/history.h"

#include <string_view>

namespace smalloc::database {

/// Parses one line. Returns nothing if it is no run, with the reason in `why`.
std::optional<Run> parse_run_line(std::string_view line, std::string &why);

struct Imported {
  int64_t runs = 0, known = 0, bad_lines = 0;
};
/// Imports all files in a folder; a folder that does not exist holds none. Imported files are
/// removed. A file of another user, or one that is not regular, stays where it is.
Imported import_runs(const std::string &folder, History &history);

} // namespace smalloc::database
