// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// try_report.h makes the document smalloc.try/1 from the runs of `smalloc try`, and its ten lines
// of text from the document, so that the two cannot differ.
#pragma once

#include "runtime/cli/study/try_advice.h"
#include "runtime/cli/table.h"
#include "runtime/study/runner.h"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace smalloc::cli {

// Run i without smalloc and run i with it form a pair.
struct TryRuns {
  std::vector<study::RunResult> without, with;
};

// Fills in what the runs say; leaves what the program's file and the system say as it is.
void add_runs(const TryRuns &runs, TryFacts &facts);

nlohmann::ordered_json try_document(const TryFacts &facts, const std::vector<std::string> &command,
                                    const std::string &compile);
// Returns at most ten lines.
std::string try_text(const nlohmann::ordered_json &document, Colour colour);

} // namespace smalloc::cli
