// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numa_simulation_report.cpp prints the result of a simulation as tables and as a figure.
#include "runtime/cli/numa/numa_simulation.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;
using numa::Mapping;
using numa::Scheme;
using numa::Source;

double percent(double part, double whole) {
  return whole > 0 ? std::round(part / whole * 10000) / 100 : 0;
}

std::string scheme_name(const Scheme &s, bool rules) {
  if (s.mapping == Mapping::kBasePages)
    return s.migrates ? numa::source_name(s.source) : "first-touch";
  return !s.migrates ? "superpages" : rules ? "superpages-rules" : "superpages-whole";
}

const char *scheme_meaning(const std::string &name) {
  if (name == "superpages")
    return "2 MiB pages, first touch";
  if (name == "superpages-whole")
    return "2 MiB pages, moved whole only";
  if (name == "superpages-rules")
    return "2 MiB pages, moved, split, spread or left";
  return "";
}

Json scheme_json(const numa::SimulationResult &r, const Scheme &s, const std::string &name,
                 const Scheme &perfect) {
  const Scheme &original = r.schemes.front();
  Json remote = Json::array();
  for (double share : s.remote_share_per_interval)
    remote.push_back(std::round(share * 10000) / 100);
  const uint64_t moved = s.moved_pages + s.moved_superpages * kPagesPerUnit;
  const uint64_t moved_perfect = perfect.moved_pages;
  return Json{
      {"name", name},
      {"mapping", s.mapping == Mapping::kBasePages ? "base" : "superpages"},
      {"migrates", s.migrates},
      {"remote_percent",
       percent(static_cast<double>(s.remote), static_cast<double>(s.local + s.remote))},
      {"remote_accesses", s.remote},
      {"reduction_percent",
       percent(static_cast<double>(original.remote) - static_cast<double>(s.remote),
               static_cast<double>(original.remote))},
      {"moved_base_pages", s.moved_pages},
      {"moved_superpages", s.moved_superpages},
      {"moves_to_perfect", moved_perfect
                               ? Json(std::round(static_cast<double>(moved) /
                                                 static_cast<double>(moved_perfect) * 100) /
                                      100)
                               : Json()},
      {"splits", s.splits},
      {"collapses", s.collapses},
      {"interleaved", s.interleaved},
      {"memory_ms", s.memory_ns / 1e6},
      {"walk_ms", s.walk_ns / 1e6},
      {"move_ms", s.move_ns / 1e6},
      {"total_ms", r.total_ns(s) / 1e6},
      {"faster_percent", percent(r.total_ns(original) - r.total_ns(s), r.total_ns(original))},
      {"busiest_node_percent", std::round(s.busiest_share * 10000) / 100},
      {"trust", s.trust},
      {"moved_per_interval", s.moved_per_interval},
      {"remote_percent_per_interval", remote}};
}

// Returns a bar of eighths for a number, relative to the largest.
std::string bar(double value, double most) {
  static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (most <= 0 || value <= 0)
    return blocks[0];
  return blocks[std::clamp(static_cast<int>(std::ceil(value / most * 8)), 1, 8)];
}

std::string site_text(const Json &d, Colour colour) {
  constexpr size_t kMostRows = 10; // JSON and the report have all rows
  if (d["sites"].empty())
    return {};
  Table table({"SITE", "TRANSACTIONS", "NON-LOCAL", "MIGRATED", "BY NODE"});
  for (size_t i = 0; i < std::min(kMostRows, d["sites"].size()); i++) {
    const Json &s = d["sites"][i];
    std::string nodes;
    for (const Json &n : s["transactions_by_node"])
      nodes += fmt::format("{}{:.0f}", nodes.empty() ? "" : " ",
                           100 * n.get<double>() / s["transactions"].get<double>());
    table.add_row({{s["name"].get<std::string>(), Style::kBold},
                   {std::to_string(s["transactions"].get<uint64_t>())},
                   {fmt::format("{:.1f} %", s["remote_percent_first_touch"].get<double>())},
                   {fmt::format("{:.1f} %", s["remote_percent"].get<double>())},
                   {nodes + " %"}});
  }
  return fmt::format("\nSites, without migration and with counts from {}\n",
                     d["source"].get<std::string>()) +
         table.print(colour);
}

// Adds the rows of a scheme to the table of count sources and to that of page sizes.
void add_scheme(const Json &s, Table &sources, Table &sizes) {
  const std::string name = s["name"];
  const bool base = s["mapping"] == "base", migrates = s["migrates"];
  const double faster = s["faster_percent"];
  const Cell time = {!migrates && base ? fmt::format("{:.1f} ms", s["total_ms"].get<double>())
                                       : fmt::format("{:+.1f} %", -faster),
                     faster > 0.5    ? Style::kGood
                     : faster < -0.5 ? Style::kBad
                                     : Style::kPlain};
  if (base)
    sources.add_row(
        {{name, Style::kBold},
         {fmt::format("{:.1f} %", s["remote_percent"].get<double>())},
         {migrates ? fmt::format("{:.1f} %", s["reduction_percent"].get<double>()) : "-"},
         {migrates ? std::to_string(s["moved_base_pages"].get<uint64_t>()) : "-"},
         {!migrates || s["moves_to_perfect"].is_null()
              ? "-"
              : fmt::format("{:.2f}", s["moves_to_perfect"].get<double>())},
         {fmt::format("{:.2f} ms", s["move_ms"].get<double>())},
         time});
  if (!base || name == "first-touch" || name == "cache-misses")
    sizes.add_row({{base ? "4 KiB pages, " + name : scheme_meaning(name), Style::kBold},
                   {fmt::format("{:.1f} %", s["remote_percent"].get<double>())},
                   {base ? fmt::format("{} pages", s["moved_base_pages"].get<uint64_t>())
                         : fmt::format("{} + {} pages", s["moved_superpages"].get<uint64_t>(),
                                       s["moved_base_pages"].get<uint64_t>())},
                   {std::to_string(s["splits"].get<uint64_t>())},
                   {std::to_string(s["interleaved"].get<uint64_t>())},
                   {fmt::format("{:.2f} ms", s["walk_ms"].get<double>())},
                   {fmt::format("{:.2f} ms", s["move_ms"].get<double>())},
                   time,
                   {fmt::format("{:.0f} %", s["busiest_node_percent"].get<double>())}});
}

// Returns a line of bars per scheme that migrates base pages.
std::string moves_text(const Json &schemes) {
  double most = 0;
  for (const Json &s : schemes)
    if (s["mapping"] == "base")
      for (const Json &n : s["moved_per_interval"])
        most = std::max(most, n.get<double>());
  std::string text;
  for (const Json &s : schemes) {
    if (s["mapping"] != "base" || !s["migrates"])
      continue;
    text += fmt::format("  {:<13}|", s["name"].get<std::string>());
    for (const Json &n : s["moved_per_interval"])
      text += bar(n.get<double>(), most);
    text += "|\n";
  }
  return text + fmt::format("  {:<13} highest bar: {:.0f} pages\n", "", most);
}

} // namespace

Json simulation_document(const SimulationRequest &q, const numa::MachineModel &machine,
                         const numa::SimulationResult &r, const NumaSiteTraffic &sites) {
  const Scheme *perfect = &r.schemes.front();
  for (const Scheme &s : r.schemes)
    if (s.migrates && s.source == Source::kPerfect && s.mapping == Mapping::kBasePages)
      perfect = &s;
  Json schemes = Json::array();
  for (size_t i = 0; i < r.schemes.size(); i++)
    schemes.push_back(scheme_json(r, r.schemes[i],
                                  scheme_name(r.schemes[i], i + 1 == r.schemes.size()), *perfect));
  return Json{
      {"schema", "smalloc.numa.simulate/1"},
      {"trace", q.trace},
      {"machine", Json{{"name", machine.name},
                       {"source", machine.source},
                       {"nodes", machine.topology.nodes},
                       {"shrink", q.shrink},
                       {"tlb_shrink", q.tlb_shrink ? q.tlb_shrink : q.shrink},
                       {"l2_bytes", machine.l2.bytes},
                       {"tlb_entries", machine.tlb.entries},
                       {"local_ns", machine.topology.latency(0, 0)},
                       {"remote_ns",
                        machine.topology.nodes > 1 ? Json(machine.topology.latency(0, 1)) : Json()},
                       {"move_page_ns", machine.move_page_ns},
                       {"move_superpage_ns", machine.move_superpage_ns}}},
      {"policy", q.policy},
      {"intervals", q.intervals},
      {"sample_period", q.sample},
      {"threads", r.threads},
      {"accesses", r.accesses},
      {"transactions", r.transactions},
      {"tlb_misses", r.tlb_misses},
      {"pages", r.pages},
      {"source", q.source},
      {"sites", sites.document()},
      {"schemes", schemes}};
}

std::string simulation_text(const Json &d, Colour colour) {
  const Json &machine = d["machine"];
  std::string text =
      fmt::format("{} threads on {} ({} nodes, caches 1/{}, TLBs 1/{}), {} pages, {} accesses, {} "
                  "memory transactions\n"
                  "policy: {}; {} intervals, every {}. event a sample\n\n",
                  d["threads"].get<unsigned>(), machine["name"].get<std::string>(),
                  machine["nodes"].get<unsigned>(), machine["shrink"].get<unsigned>(),
                  machine["tlb_shrink"].get<unsigned>(), d["pages"].get<uint64_t>(),
                  d["accesses"].get<uint64_t>(), d["transactions"].get<uint64_t>(),
                  d["policy"].get<std::string>(), d["intervals"].get<unsigned>(),
                  d["sample_period"].get<unsigned>());

  Table sources(
      {"COUNTS FROM", "NON-LOCAL", "REDUCTION", "MOVES", "MOVES/PERFECT", "MOVING", "TIME", ""});
  Table sizes({"PAGES AND PLACEMENT", "NON-LOCAL", "MOVED", "SPLIT", "SPREAD", "TLB WALKS",
               "MOVING", "TIME", "BUSIEST NODE"});
  for (const Json &s : d["schemes"])
    add_scheme(s, sources, sizes);
  return text +
         "Non-local accesses and moves by source of counts (as Tables 2, 6a and 6b of Tikir and "
         "Hollingsworth 2008)\n" +
         sources.print(colour) + site_text(d, colour) + "\nPage size and placement together\n" +
         sizes.print(colour) +
         "\nPages moved, interval by interval (as figure 7 of Tikir and Hollingsworth 2008)\n" +
         moves_text(d["schemes"]);
}

} // namespace smalloc::cli
