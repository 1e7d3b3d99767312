// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_directives.cpp implements `smalloc directives show`, diff and merge.
#include "runtime/cli/input_file.h"
#include "runtime/cli/output.h"
#include "runtime/cli/verbs.h"
#include "runtime/directives/directives_file.h"
#include "runtime/errors/diagnostics.h"
#include "smalloc/base/units.h"
#include "smalloc/numa/placement.h"

#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;
using directives::Entry;
using directives::File;

struct DirectivesOptions {
  OutputOptions output;
  std::string merged;
  std::vector<std::string> files;
  enum { kShow, kDiff, kMerge } verb = kShow;
};

constexpr size_t kMostNamed = 5; // errors that are named per file

/// Warns of unknown placements. The runtime ignores them silently, like fields of a later version.
void warn_of_placements(const std::string &path, const File &file) {
  size_t unknown = 0;
  for (const auto &[key, e] : file.entries) {
    numa::Placement placement;
    if (numa::parse_placement(Text(e.numa.data(), e.numa.size()), placement) ||
        ++unknown > kMostNamed)
      continue;
    print_warning("unknown placement", fmt::format("{}: {}", path, directives::print_key(key)),
                  fmt::format("numa={} is none of local, interleave, weighted, preferred:N[,N...], "
                              "partition; the site gets no placement",
                              e.numa),
                  "docs/reference.md");
  }
  if (unknown > kMostNamed)
    print_warning("unknown placements", path, fmt::format("{} of them ignored", unknown));
}

File load(const std::string &path) {
  const auto bytes = read_file(path, "cannot read the directives", {{}, size_t{16} << 20});
  try {
    File file = directives::parse({reinterpret_cast<const char *>(bytes.data()), bytes.size()});
    for (size_t i = 0; i < file.bad_lines.size() && i < kMostNamed; i++)
      print_warning("bad directive", fmt::format("{}:{}", path, file.bad_lines[i]),
                    "it is not SITE page=2m|64k|1g|base ..., ignored", "docs/reference.md");
    if (file.bad_lines.size() > kMostNamed)
      print_warning("bad directives", path, fmt::format("{} lines ignored", file.bad_lines.size()));
    if (bytes.back() != '\n') // a header precedes it
      print_warning("truncated directives", path,
                    fmt::format("its last line has no newline; {} directives could be read",
                                file.entries.size()),
                    "smalloc analyze TRACE -o app.directives");
    warn_of_placements(path, file);
    return file;
  } catch (const directives::FormatError &error) {
    throw Failure{"cannot read the directives", path, error.what(),
                  "smalloc analyze TRACE -o app.directives", kFailed};
  }
}

// Formats the page of an entry: "2m", "base (2m given up)", or "2m (base with 2 inputs)".
std::string page_text(const File &file, const Entry &e) {
  const unsigned decided = directives::decided_shift(file, e);
  if (const size_t n = directives::slower_input_count(file); n && decided > kBaseShift)
    return fmt::format("{} (base with {} input{})", directives::page_name(decided), n,
                       n == 1 ? "" : "s");
  return decided == e.page_shift
             ? directives::page_name(decided)
             : fmt::format("{} ({} {})", directives::page_name(decided),
                           directives::page_name(e.page_shift),
                           directives::is_given_up(e) ? "given up" : "was slower");
}

Json entry_json(const File &file, const directives::Key &key, const Entry &e) {
  return Json{{"id", fmt::format("{:016x}", key.site)},
              {"context", key.has_context ? Json(fmt::format("{:016x}", key.context)) : Json()},
              {"page", directives::page_name(e.page_shift)},
              {"page_bytes", uint64_t{1} << e.page_shift},
              {"decided", directives::page_name(directives::decided_shift(file, e))},
              {"held", e.held},
              {"validated", e.validated},
              {"given_up", directives::is_given_up(e)},
              {"rank", e.rank},
              {"pmb_percent", e.has_pmb ? Json(e.pmb_percent) : Json()},
              {"superpages", e.superpages},
              {"numa", e.numa.empty() ? Json() : Json(e.numa)},
              {"comment", e.comment}};
}

int show(const DirectivesOptions &options) {
  const auto thresholds = parse_thresholds(options.output);
  const File file = load(options.files[0]);
  Json entries = Json::array(), header = Json::object();
  uint64_t on_superpages = 0, superpages = 0;
  for (const auto &[key, value] : file.header)
    header[key] = value;
  for (const auto &[key, e] : file.entries) {
    entries.push_back(entry_json(file, key, e));
    if (directives::decided_shift(file, e) > kMediumShift) { // pages of 64 KiB need no superpages
      on_superpages++;
      superpages += std::min(e.superpages, UINT64_MAX - superpages); // saturates, since a file may
                                                                     // hold any number
    }
  }
  const Json document{{"schema", "smalloc.directives-show/1"},
                      {"path", options.files[0]},
                      {"header", header},
                      {"directives", entries},
                      {"slower_inputs", directives::slower_input_count(file)},
                      {"totals", Json{{"directives", file.entries.size()},
                                      {"on_superpages", on_superpages},
                                      {"superpages", superpages},
                                      {"bad_lines", file.bad_lines.size()}}}};
  return finish(options.output, thresholds, document, [&](Colour colour) {
    Table table({"SITE", "PAGE", "RANK", "PMB", "SUPERPAGES", "WHERE"});
    for (const auto &[key, e] : file.entries)
      table.add_row(
          {{directives::print_key(key)},
           {page_text(file, e),
            directives::decided_shift(file, e) > kBaseShift ? Style::kGood : Style::kPlain},
           {e.rank ? std::to_string(e.rank) : "-"},
           {e.has_pmb ? fmt::format("{:.1f}", e.pmb_percent) : std::string("-")},
           {std::to_string(e.superpages)},
           {printable(e.comment)}});
    return table.print(colour) + fmt::format("\n{} directives, {} on superpages ({} superpages)\n",
                                             file.entries.size(), on_superpages, superpages);
  });
}

int diff(const DirectivesOptions &options) {
  const auto thresholds = parse_thresholds(options.output);
  const File before = load(options.files[0]), after = load(options.files[1]);
  const auto differences = directives::compare(before, after);
  const auto decided = [](const File &file, const Entry *e) {
    return e ? Json(directives::page_name(directives::decided_shift(file, *e))) : Json();
  };
  Json list = Json::array();
  for (const directives::Difference &d : differences)
    list.push_back(Json{{"id", fmt::format("{:016x}", d.key.site)},
                        {"before", decided(before, d.before)},
                        {"after", decided(after, d.after)},
                        {"comment", d.after ? d.after->comment : d.before->comment}});
  const Json document{{"schema", "smalloc.directives-diff/1"},
                      {"before", options.files[0]},
                      {"after", options.files[1]},
                      {"differences", list},
                      {"totals", Json{{"differences", differences.size()}}}};
  return finish(options.output, thresholds, document, [&](Colour colour) {
    if (differences.empty())
      return std::string("no decision differs\n");
    Table table({"SITE", "BEFORE", "AFTER", "WHERE"});
    for (const directives::Difference &d : differences)
      table.add_row({{directives::print_key(d.key)},
                     {d.before ? page_text(before, *d.before) : "-"},
                     {d.after ? page_text(after, *d.after) : "-"},
                     {printable(d.after ? d.after->comment : d.before->comment)}});
    return table.print(colour);
  });
}

int merge(const DirectivesOptions &options) {
  File result = load(options.files[0]);
  for (size_t i = 1; i < options.files.size(); i++)
    result = directives::merge(result, load(options.files[i]));
  write_text(options.merged, directives::print(result));
  return kDone;
}

std::function<int()> declare_directives(CLI::App &app) {
  auto options = std::make_shared<DirectivesOptions>();
  CLI::App *shown = app.add_subcommand("show", "A file's directives, checked");
  shown->add_option("FILE", options->files, "A directives file")
      ->required()
      ->expected(1)
      ->type_name("");
  add_output_options(*shown, options->output);
  CLI::App *compared = app.add_subcommand("diff", "Which decisions differ");
  compared->add_option("FILE", options->files, "Two directives files")
      ->required()
      ->expected(2)
      ->type_name("");
  add_output_options(*compared, options->output);
  compared->callback([options] { options->verb = DirectivesOptions::kDiff; });
  CLI::App *merged = app.add_subcommand(
      "merge",
      "One file out of several: of the same site, the entry with the higher PMB, or without one");
  merged->add_option("FILE", options->files, "Directives files")->required()->type_name("");
  merged->add_option("-o,--output", options->merged, "Where to write it (standard output)")
      ->type_name("FILE");
  merged->add_flag("-q,--quiet", options->output.quiet, "No notes on standard error");
  merged->callback([options] { options->verb = DirectivesOptions::kMerge; });
  app.require_subcommand(1);
  return [options] {
    set_quiet(options->output.quiet);
    return options->verb == DirectivesOptions::kShow   ? show(*options)
           : options->verb == DirectivesOptions::kDiff ? diff(*options)
                                                       : merge(*options);
  };
}

} // namespace

const Verb kDirectivesVerb = {
    "directives",
    "look at, compare and merge directives files",
    "A directives file says which page size each allocation site gets. It is text, sorted and "
    "stable, made by smalloc "
    "analyze and read by libsmalloc at the start of a program (SMALLOC_CONF=directives:FILE).",
    {{"smalloc directives diff old.directives new.directives --fail-if 'totals.differences > 0'",
      "for scripts: exit 3 when a decision changed"},
     {"smalloc directives merge a.directives b.directives -o app.directives",
      "one file out of the profiles of two inputs"}},
    declare_directives};

} // namespace smalloc::cli
