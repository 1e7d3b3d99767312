// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_db.cpp implements `smalloc db` list, show, import, merge, export and prune.
#include "runtime/cli/history/history_report.h"
#include "runtime/cli/history/history_store.h"
#include "runtime/cli/output.h"
#include "runtime/cli/verbs.h"
#include "runtime/database/schema.h"
#include "runtime/errors/diagnostics.h"

#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;
using database::Access;

struct DbOptions {
  OutputOptions output;
  std::string database, program, older_than = "180d";
  std::vector<std::string> others;
  int64_t keep = 10;
  std::function<int(const DbOptions &)> verb;
};

int list(const DbOptions &options) {
  const auto thresholds = parse_thresholds(options.output);
  auto history = open_history(options.database, Access::kReadOnly);
  const Json document = list_document(history);
  return finish(options.output, thresholds, document,
                [&](Colour colour) { return list_text(document, colour); });
}

int show(const DbOptions &options) {
  const auto thresholds = parse_thresholds(options.output);
  auto history = open_history(options.database, Access::kReadOnly);
  const Json document = show_document(history, program_meant(history, options.program));
  return finish(options.output, thresholds, document,
                [&](Colour colour) { return show_text(document, colour); });
}

// Opening imports the reports. list, too, does it, but counts all that the history has.
int import_reports(const DbOptions &options) {
  set_quiet(options.output.quiet);
  open_history(options.database, Access::kReadWrite);
  return kDone;
}

int merge(const DbOptions &options) {
  set_quiet(options.output.quiet);
  auto history = open_history(options.database, Access::kReadWrite);
  for (const std::string &other : options.others) {
    database::History source(database::open_database(other, Access::kReadOnly));
    history.merge(source);
  }
  return kDone;
}

int export_history(const DbOptions &options) {
  set_quiet(options.output.quiet);
  auto history = open_history(options.database, Access::kReadOnly);
  if (options.program.empty()) {
    write_text(options.output.file, json_text(export_document(history)));
    return kDone;
  }
  const std::string program = program_meant(history, options.program);
  const auto file = todays_directives(history, program);
  if (!file)
    throw Failure{"cannot export directives", options.program,
                  "the history has none for this program", "smalloc analyze TRACE", kFailed};
  write_text(options.output.file, directives::print(*file));
  return kDone;
}

// Parses an age: "90d", "12h".
int64_t parse_age_ns(const std::string &text) {
  char *end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const double unit = *end == 'd'   ? 86400
                      : *end == 'h' ? 3600
                      : *end == 'm' ? 60
                      : *end == 's' ? 1
                                    : 0;
  if (end == text.c_str() || unit == 0 || end[1] || !(value >= 0) || value * unit > 1e9)
    throw Failure{"cannot understand the command line", "--older-than " + text,
                  "it is not a time such as 90d or 12h", "smalloc db prune --help", kUsage};
  return static_cast<int64_t>(value * unit * 1e9);
}

Json prune_document(const database::History::Removed &removed) {
  return Json{{"schema", "smalloc.db-prune/1"},
              {"removed", Json{{"programs", removed.programs},
                               {"runs", removed.runs},
                               {"analyses", removed.analyses}}}};
}

int prune(const DbOptions &options) {
  const auto thresholds = parse_thresholds(options.output);
  for (const FailIf &threshold : thresholds) { // check the keys first, since removed runs cannot be
                                               // restored
    std::string found;
    crosses(threshold, prune_document({}), found);
  }
  const int64_t before_ns = now_ns() - parse_age_ns(options.older_than);
  auto history = open_history(options.database, Access::kReadWrite);
  const auto removed = history.prune(before_ns, options.keep);
  return finish(options.output, thresholds, prune_document(removed), [&](Colour) {
    return fmt::format("deleted: {} runs, {} analyses, {} programs\n", removed.runs,
                       removed.analyses, removed.programs);
  });
}

std::function<int()> declare_db(CLI::App &app) {
  auto options = std::make_shared<DbOptions>();
  const auto part = [&](const char *name, const char *what, int (*verb)(const DbOptions &)) {
    CLI::App *sub = app.add_subcommand(name, what);
    sub->add_option("--db", options->database,
                    "File, or postgresql://... ($XDG_STATE_HOME/smalloc/smalloc.db)")
        ->type_name("DATABASE");
    sub->callback([options, verb] { options->verb = verb; });
    return sub;
  };
  CLI::App *listed = part("list", "Programs in the history", list);
  add_output_options(*listed, options->output);
  CLI::App *shown = part("show", "One program: its directives, runs, and how it compares", show);
  shown->add_option("PROGRAM", options->program, "A file, or the beginning of a build-id")
      ->required()
      ->type_name("");
  add_output_options(*shown, options->output);
  CLI::App *imported =
      part("import", "Import the reports of runs, for a host that only reports", import_reports);
  imported->add_flag("-q,--quiet", options->output.quiet, "No notes on standard error");
  CLI::App *merged =
      part("merge", "Import the programs, runs and analyses of other histories", merge);
  merged->add_option("DATABASE", options->others, "Files, or postgresql://...")
      ->required()
      ->type_name("");
  merged->add_flag("-q,--quiet", options->output.quiet, "No notes on standard error");
  CLI::App *exported =
      part("export", "A program's directives as a file; without a program everything as JSON",
           export_history);
  exported->add_option("PROGRAM", options->program, "A file, or the beginning of a build-id")
      ->type_name("");
  exported
      ->add_option("-o,--output", options->output.file,
                   "Write to FILE (%p process, %h host, %r MPI rank)")
      ->type_name("FILE");
  exported->add_flag("-q,--quiet", options->output.quiet, "No notes on standard error");
  CLI::App *pruned = part("prune", "Delete old runs and analyses", prune);
  pruned->add_option("--older-than", options->older_than, "Age (180d)")->type_name("TIME");
  pruned
      ->add_option("--keep", options->keep,
                   "Keep this many of each program's latest, however old (10)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40).description(""));
  add_output_options(*pruned, options->output);
  app.require_subcommand(1);
  return [options] { return with_history([&] { return options->verb(*options); }); };
}

} // namespace

const Verb kDbVerb = {
    "db",
    "the history of programs: analyses, directives, runs, validations",
    "The build-id identifies a program. smalloc analyze stores rankings and directives; a program "
    "that runs with directives reports its result, and the next command imports the report. A "
    "directive that its runs do not confirm loses its rank; a program that is slower than on base "
    "pages returns to base pages.",
    {{"smalloc db show ./app", "its directives, how often each held, and its runs"},
     {"smalloc db export ./app -o app.directives",
      "for SMALLOC_CONF=directives: and version control"}},
    declare_db};

} // namespace smalloc::cli
