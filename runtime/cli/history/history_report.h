// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// history_report.h prints a history for `smalloc db`: the documents smalloc.db-list/1,
// smalloc.db-show/1 and smalloc.db-export/1, and the texts of the first two.
#pragma once

#include "runtime/cli/table.h"
#include "runtime/database/history.h"

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace smalloc::cli {

nlohmann::ordered_json list_document(database::History &history);
std::string list_text(const nlohmann::ordered_json &document, Colour colour);

// Returns the document of one program: directives and whether they are still valid, runs, analyses,
// and the comparison with base pages.
nlohmann::ordered_json show_document(database::History &history, const std::string &program);
std::string show_text(const nlohmann::ordered_json &document, Colour colour);

// Returns the whole history.
nlohmann::ordered_json export_document(database::History &history);

nlohmann::ordered_json run_json(const database::Run &run);

} // namespace smalloc::cli
