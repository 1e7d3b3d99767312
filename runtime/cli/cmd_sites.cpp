// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_sites.cpp decides what `smalloc sites` accepts and when it fails: a file without a believable
// site is a failure, so that a build script notices that the plugin was not there.
#include "runtime/cli/diagnostics.h"
#include "runtime/cli/input_file.h"
#include "runtime/cli/installation.h"
#include "runtime/cli/output.h"
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
  const auto bytes = read_file(options.file, "cannot read the program", kProgramInput);
  const ElfImage image = parse_elf(bytes, options.file);
  SiteTable table = read_sites(image);
  join_units(table);
  for (const std::string &warning : table.warnings)
    print_warning("damaged site table", options.file, warning);
  for (const std::string &note : table.notes)
    print_note(options.file + ": " + note);
  if (table.debug_only)
    throw Failure{"no allocation sites", options.file, "it holds only debug information",
                  "name the program that it was split from", kFailed};
  if (table.sites.empty())
    throw Failure{
        "no allocation sites", options.file,
        table.table_found
            ? "its table has no readable record"
            : "it was not compiled with the plugin, or without optimisation, or with a sanitizer",
        compile_hint("app.c -o app"), kFailed};
  merge_copies(table.sites);
  sort_by_benefit(table.sites);
  const auto document = site_document(table.sites, options.file, image.build_id());
  if (document["machine"]["name"] == "mixed")
    print_note(options.file + ": its units were compiled for different machines");
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
