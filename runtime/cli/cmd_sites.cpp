// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_sites.cpp decides what `smalloc sites` accepts.
#include "runtime/cli/output.h"
#include "runtime/cli/program_sites.h"
#include "runtime/cli/site_report.h"
#include "runtime/cli/verbs.h"

#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

struct Options {
  OutputOptions output;
  std::string file;
};

int run_sites(const Options &options) {
  const auto thresholds = parse_thresholds(options.output);
  const auto document = sites_of_program(options.file);
  return finish(options.output, thresholds, document,
                [&](Colour colour) { return site_text(document, colour); });
}

std::function<int()> declare(CLI::App &app) {
  auto options = std::make_shared<Options>();
  app.add_option("FILE", options->file,
                 "Program, shared library or object file; it is read, not run")
      ->required()
      ->type_name("");
  add_output_options(app, options->output);
  return [options] { return run_sites(*options); };
}

} // namespace

const Verb kSitesVerb = {
    "sites",
    "the allocation sites of a program: pattern, spread, decision, why",
    "Reads the table that the plugin left in FILE, also after strip, and prints one site a row, "
    "what pays most first.",
    {{"smalloc sites ./app", "every site of ./app with its decision and the reason"},
     {"smalloc sites ./app --json --fail-if 'totals.superpage < 1'",
      "for scripts: exit 3 when nothing got superpages"}},
    declare};

} // namespace smalloc::cli
