// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_diff.cpp compares two runs: each number that both have, as ratio and difference, and the
// sites, the most changed first.
#include "runtime/cli/history/run_view.h"
#include "runtime/cli/output.h"
#include "runtime/cli/sites/site_report.h"
#include "runtime/cli/verbs.h"
#include "runtime/errors/diagnostics.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kShownSites = 20;

struct DiffOptions {
  OutputOptions output;
  std::string before, after, database;
  bool all = false;
};

Json number(const std::map<std::string, double> &numbers, const std::string &key) {
  const auto at = numbers.find(key);
  if (at == numbers.end())
    return Json();
  // Print whole numbers without a fraction.
  if (at->second == std::floor(at->second) && std::abs(at->second) < 9e15)
    return Json(static_cast<int64_t>(at->second));
  return Json(at->second);
}

Json change(const std::map<std::string, double> &before, const std::map<std::string, double> &after,
            const std::string &key) {
  const auto a = before.find(key), b = after.find(key);
  Json row{{"before", number(before, key)},
           {"after", number(after, key)},
           {"difference", Json()},
           {"ratio", Json()}};
  if (a != before.end() && b != after.end()) {
    row["difference"] = number({{"d", b->second - a->second}}, "d");
    if (a->second != 0)
      row["ratio"] = b->second / a->second;
  }
  return row;
}

Json changes(const std::map<std::string, double> &before,
             const std::map<std::string, double> &after) {
  std::map<std::string, bool> keys;
  for (const auto *numbers : {&before, &after})
    for (const auto &[key, value] : *numbers)
      keys[key] = true;
  Json rows = Json::object();
  for (const auto &[key, there] : keys)
    rows[key] = change(before, after, key);
  return rows;
}

// Returns the largest change of the site's numbers of bytes; sites are sorted by it.
double weight(const SiteView *before, const SiteView *after) {
  double most = 0;
  for (const char *key : {"peak_bytes", "live_bytes_peak", "footprint_bytes", "requested_bytes"}) {
    const auto value = [&](const SiteView *site) {
      const auto at =
          site ? site->numbers.find(key) : std::map<std::string, double>::const_iterator();
      return site && at != site->numbers.end() ? at->second : 0.0;
    };
    most = std::max(most, std::abs(value(after) - value(before)));
  }
  return most;
}

Json document_of(const RunView &a, const RunView &b) {
  struct Pair {
    std::string id;
    const SiteView *before, *after;
    double weight;
  };
  std::map<std::string, Pair> by_id;
  for (const auto &[id, site] : a.sites)
    by_id[id] = {id, &site, nullptr, 0};
  for (const auto &[id, site] : b.sites) {
    Pair &pair = by_id[id];
    pair.id = id;
    pair.after = &site;
  }
  std::vector<Pair> pairs;
  for (auto &[id, pair] : by_id) {
    pair.weight = weight(pair.before, pair.after);
    pairs.push_back(pair);
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair &x, const Pair &y) { return x.weight > y.weight; });
  Json sites = Json::array();
  static const std::map<std::string, double> nothing;
  for (const Pair &pair : pairs)
    sites.push_back(Json{{"id", pair.id},
                         {"name", pair.after && !pair.after->name.empty() ? pair.after->name
                                  : pair.before                           ? pair.before->name
                                                                          : std::string()},
                         {"in", !pair.before  ? "after"
                                : !pair.after ? "before"
                                              : "both"},
                         {"numbers", changes(pair.before ? pair.before->numbers : nothing,
                                             pair.after ? pair.after->numbers : nothing)}});
  return Json{{"schema", "smalloc.diff/1"},
              {"before", Json{{"name", a.label}, {"kind", a.kind}}},
              {"after", Json{{"name", b.label}, {"kind", b.kind}}},
              {"numbers", changes(a.numbers, b.numbers)},
              {"sites", sites}};
}

std::string value_text(const std::string &key, const Json &value) {
  if (value.is_null())
    return "-";
  if (key.ends_with("_bytes") || key.find("bytes_") != std::string::npos)
    return value.is_number_integer() && value.get<int64_t>() >= 0
               ? readable_bytes(value.get<uint64_t>())
               : value.dump();
  return value.is_number_integer() ? value.dump() : fmt::format("{:.4g}", value.get<double>());
}

std::string ratio_text(const Json &row) {
  if (row["before"].is_null() || row["after"].is_null())
    return "";
  if (row["before"] == row["after"])
    return "same";
  return row["ratio"].is_null() ? "" : fmt::format("{:.3f}x", row["ratio"].get<double>());
}

std::string text_of(const Json &document, bool all, Colour colour) {
  Table table({"", "BEFORE", "AFTER", ""});
  for (const auto &[key, row] : document["numbers"].items())
    if (all || row["before"] != row["after"])
      table.add_row({{printable(key)},
                     {value_text(key, row["before"])},
                     {value_text(key, row["after"])},
                     {ratio_text(row)}});
  std::string text = table.print(colour);
  Table sites({"SITE", "WHERE", "WHAT", "BEFORE", "AFTER", ""});
  size_t shown = 0;
  for (const Json &site : document["sites"]) {
    if (shown >= kShownSites && !all)
      break;
    bool first = true;
    for (const auto &[key, row] : site["numbers"].items()) {
      if (row["before"] == row["after"] && !all)
        continue;
      sites.add_row(
          {{first ? printable(site["id"].get<std::string>()) : std::string(), Style::kBold},
           {first ? shortened(printable(site["name"].get<std::string>()), 48) : std::string()},
           {printable(key)},
           {value_text(key, row["before"])},
           {value_text(key, row["after"])},
           {ratio_text(row)}});
      first = false;
    }
    shown += !first;
  }
  if (shown)
    text += "\n" + sites.print(colour);
  return text;
}

int diff(const DiffOptions &options) {
  const auto thresholds = parse_thresholds(options.output);
  const RunView a = view_of_run(options.before, options.database);
  const RunView b = view_of_run(options.after, options.database);
  if (a.kind != b.kind)
    print_warning("different kinds of documents", options.after,
                  a.kind + " and " + b.kind + ": only what both have is compared");
  if (!a.program.empty() && !b.program.empty() && a.program != b.program)
    print_warning("different programs", options.after, a.program + " and " + b.program);
  const Json document = document_of(a, b);
  return finish(options.output, thresholds, document,
                [&](Colour colour) { return text_of(document, options.all, colour); });
}

std::function<int()> declare_diff(CLI::App &app) {
  auto options = std::make_shared<DiffOptions>();
  app.add_option("BEFORE", options->before, "A trace, a JSON document, or a run's number")
      ->required()
      ->type_name("");
  app.add_option("AFTER", options->after, "Another")->required()->type_name("");
  app.add_option("--db", options->database, "Where runs are looked up")->type_name("DATABASE");
  app.add_flag("-a,--all", options->all, "Also what is the same, and all sites");
  add_output_options(app, options->output);
  return [options] { return diff(*options); };
}

} // namespace

const Verb kDiffVerb = {
    "diff",
    "two runs beside each other: did it help?",
    "Compares runs of the history (by number, smalloc db show has them), traces of smalloc record, "
    "or documents of "
    "smalloc as JSON: statistics, analyses, reported runs. Every number that both have, and the "
    "sites where most has "
    "changed.",
    {{"smalloc diff 12 17", "time, memory, faults and superpages of two runs of the history"},
     {"smalloc diff before.json after.json --fail-if 'numbers.resident_bytes.ratio > 1.02'",
      "statistics of two runs (stats:json), for scripts"}},
    declare_diff};

} // namespace smalloc::cli
