// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// live_report.h decides what `smalloc stats` tells of a running process: the document
// smalloc.stats/1, with the same keys as the one that a program writes of itself
// (smalloc/stats/stats_json.cpp), and the text made of it.
#pragma once

#include "runtime/cli/process/live_process.h"
#include "runtime/cli/table.h"

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace smalloc::cli {

// now_ns: CLOCK_REALTIME.
nlohmann::ordered_json live_document(const LiveView &view, int pid, const std::string &program,
                                     uint64_t now_ns);

// folder: file names below it are shown without it; empty: none is.
std::string live_text(const nlohmann::ordered_json &document, Colour colour,
                      const std::string &folder);

} // namespace smalloc::cli
