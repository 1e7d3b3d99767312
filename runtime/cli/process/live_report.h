// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// live_report.h prints the statistics of a running process for `smalloc stats`, as the document
// smalloc.stats/1 and as text. The document has the same keys as the one that a program writes
// about itself (smalloc/stats/stats_json.cpp).
#pragma once

#include "runtime/cli/process/live_process.h"
#include "runtime/cli/table.h"

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace smalloc::cli {

// Returns the document. `now_ns`: CLOCK_REALTIME.
nlohmann::ordered_json live_document(const LiveView &view, int pid, const std::string &program,
                                     uint64_t now_ns);

// Returns the text. File names below `folder` are shown without it; empty: all names are full.
std::string live_text(const nlohmann::ordered_json &document, Colour colour,
                      const std::string &folder);

} // namespace smalloc::cli
