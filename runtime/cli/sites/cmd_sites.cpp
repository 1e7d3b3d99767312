// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_sites.cpp implements `smalloc sites`.
#include "runtime/cli/output.h"
#include "runtime/cli/sites/program_sites.h"
#include "runtime/cli/sites/site_report.h"
#include "runtime/cli/verbs.h"

#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

struct SitesOptions {
  OutputOptions output;
  std::string file;
  SiteChoice choice;
  bool frames = false;
};

int run_sites(const SitesOptions &options) {
  const auto thresholds = parse_thresholds(options.output);
  auto document = sites_of_program(options.file);
  choose_sites(document, options.choice);
  return finish(options.output, thresholds, document,
                [&](Colour colour) { return site_text(document, colour, options.frames); });
}

std::function<int()> declare_sites(CLI::App &app) {
  auto options = std::make_shared<SitesOptions>();
  app.add_option("FILE", options->file,
                 "Program, shared library or object file; it is read, not run")
      ->required()
      ->type_name("");
  app.add_flag("--frames", options->frames, "The calls that a site was inlined through");
  app.add_option("--top", options->choice.most, "Only the N sites that pay most")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 30).description(""));
  app.add_option("--function", options->choice.function,
                 "Only sites in functions with TEXT in their names, inlined ones among them")
      ->type_name("TEXT");
  app.add_option("--min-size", options->choice.least_bytes,
                 "Only sites whose objects have at least this size (2m), or an unknown one")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false).description(""));
  add_output_options(app, options->output);
  return [options] { return run_sites(*options); };
}

} // namespace

const Verb kSitesVerb = {
    "sites",
    "the allocation sites of a program: pattern, spread, decision, why",
    "Reads the table that the plugin left in FILE, also after strip, and prints one site a row, "
    "what pays most first.",
    {{"smalloc sites ./app --top 10", "the ten sites of ./app that pay most: decision and reason"},
     {"smalloc sites ./app --json --fail-if 'totals.superpage < 1'",
      "for scripts: exit 3 when nothing got superpages"}},
    declare_sites};

} // namespace smalloc::cli
