// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// output.h decides where a verb's result goes and what every printing verb has in common: --json,
// --fail-if, -o FILE,
// --color, --quiet. Results go to standard output or FILE, everything else to standard error.
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
// The same without -o, where that is something else.
void add_document_options(CLI::App &app, OutputOptions &options);

// To a file whose name may hold %p, %h and %r, or with an empty name to standard output. option: which named the file, for hints.
// Throws Failure.
void write_text(const std::string &file, const std::string &text, const std::string &option = "-o");

// Decides colour from --color, NO_COLOR, TERM and whether the result goes to a terminal.
Colour choose_colour(const OutputOptions &options);

// Checks the thresholds' form before any work is done, so that a mistyped one costs no waiting.
std::vector<FailIf> parse_thresholds(const OutputOptions &options);

// Compares, writes the document or its text, and says what is crossed: kDone or kThresholdCrossed. A key that leads nowhere throws
// before anything is written.
int finish(const OutputOptions &options, const std::vector<FailIf> &thresholds,
           const nlohmann::ordered_json &document, const std::function<std::string(Colour)> &text);

// The text of a document as every --json prints it: two spaces of indentation, bad UTF-8 replaced,
// newline at the end.
std::string json_text(const nlohmann::ordered_json &document);

// Replaces %p, %h, %r and %% in a file name.
// `process`: what %p becomes; empty: this process.
std::string expand_file_name(const std::string &name, const std::string &process = {});

// The name in SMALLOC_CONF of the file that is called so, where libsmalloc expands the same.
std::string as_file_name_of_conf(const std::string &name);

} // namespace smalloc::cli
