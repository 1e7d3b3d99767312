// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// output.h writes the result of a verb and has the options that printing verbs share: --json,
// --fail-if, -o FILE, --color, --quiet. Results go to standard output or FILE, everything else to
// standard error.
#pragma once

#include "runtime/cli/fail_if.h"
#include "runtime/cli/table.h"

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace CLI {
class App;
}

namespace smalloc::cli {

struct OutputOptions {
  bool json = false;
  bool quiet = false;
  std::string file; // may hold %p (process), %h (host) and %r (MPI rank)
  std::string color = "auto";
  std::vector<std::string> fail_if;
};

void add_output_options(CLI::App &app, OutputOptions &options);
// Adds the same options without -o, for verbs that use -o otherwise.
void add_document_options(CLI::App &app, OutputOptions &options);

// Returns the text as JSON; null if it is empty.
nlohmann::ordered_json text_or_null(const std::string &text);
// Writes `text` to `file`, whose name may hold %p, %h and %r, or to standard output if `file` is
// empty. `option`: the option that named the file, for hints. Throws Failure.
void write_text(const std::string &file, const std::string &text, const std::string &option = "-o");

// Returns whether to colour, from --color, NO_COLOR, TERM and whether the result goes to a
// terminal.
Colour choose_colour(const OutputOptions &options);

// Parses the thresholds before any work is done, so that a mistyped one fails at once.
std::vector<FailIf> parse_thresholds(const OutputOptions &options);

// Compares the thresholds, writes the document or its text, and reports crossed thresholds. Returns
// kDone or kThresholdCrossed. A key that leads nowhere throws before anything is written.
int finish(const OutputOptions &options, const std::vector<FailIf> &thresholds,
           const nlohmann::ordered_json &document, const std::function<std::string(Colour)> &text);

// Returns the text of a document as --json prints it: two spaces of indentation, bad UTF-8
// replaced, newline at the end.
std::string json_text(const nlohmann::ordered_json &document);

// Replaces %p, %h, %r and %% in a file name. `process`: the text for %p; empty: this process's
// number.
std::string expand_file_name(const std::string &name, const std::string &process = {});

// Returns the name to write in SMALLOC_CONF, whose expansion by libsmalloc yields `name`.
std::string as_file_name_of_conf(const std::string &name);

} // namespace smalloc::cli
