// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// analyze_report.cpp writes the columns of the table and the keys of the document. If several page
// sizes were requested, each site has a line per size, the best size first.
#include "runtime/cli/analyze/analyze_report.h"

#include "runtime/cli/output.h"
#include "runtime/cli/sites/short_name.h"
#include "runtime/cli/sites/site_report.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/study/plot.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostNames = 4; // of a cluster's sites in the table

const char *kind_name(benefit::CategoryKind kind) {
  switch (kind) {
  case benefit::CategoryKind::kStatic:
    return "static";
  case benefit::CategoryKind::kSizeClass:
    return "size_class";
  case benefit::CategoryKind::kSiteContext:
    return "site_context";
  case benefit::CategoryKind::kCluster:
    return "dynamic";
  case benefit::CategoryKind::kObject:
    return "object";
  default:
    return "site";
  }
}

std::string hex(uint64_t id) { return fmt::format("{:016x}", id); }

Json chain_of(const RankedMapping &m) {
  Json lines = Json::array();
  std::istringstream chain(m.chain);
  for (std::string line; std::getline(chain, line);)
    lines.push_back(line);
  return lines;
}

// Returns the results of each analysed page size, smallest first.
Json sizes_of(const RankedMapping &m) {
  Json sizes = Json::array();
  for (const SizeResult &r : m.sizes)
    sizes.push_back(Json{{"page_bytes", page_bytes(r.page)},
                         {"superpages", r.page_count},
                         {"tlb_misses", r.tlb_misses},
                         {"page_faults", r.page_faults},
                         {"saved_cycles", r.saved_cycles},
                         {"saved_cycles_low", r.saved_cycles_low},
                         {"saved_cycles_high", r.saved_cycles_high},
                         {"pmb_percent", r.pmb_percent}});
  return sizes;
}

Json members_of(const RankedMapping &m) {
  Json sites = Json::array();
  for (const ClusterMember &member : m.members)
    sites.push_back(Json{{"id", hex(member.id)},
                         {"function", text_or_null(member.function)},
                         {"file", text_or_null(member.file)},
                         {"line", member.line ? Json(member.line) : Json()},
                         {"accesses", member.accesses}});
  return sites;
}

std::string name_of(const RankedMapping &m) {
  return m.function.empty() ? hex(m.id) : readable_function(m.function);
}

std::string place_of(const RankedMapping &m) {
  const bool site = m.kind == benefit::CategoryKind::kSite ||
                    m.kind == benefit::CategoryKind::kSiteContext ||
                    m.kind == benefit::CategoryKind::kObject;
  if (!m.members.empty()) {
    std::string names;
    for (size_t i = 0; i < m.members.size() && i < kMostNames; i++)
      names += (i ? ", " : "") + (m.members[i].function.empty()
                                      ? hex(m.members[i].id)
                                      : readable_function(m.members[i].function));
    return m.members.size() > kMostNames ? names + ", ..." : names;
  }
  std::string where = m.line ? fmt::format("{}:{}", m.file, m.line) : site ? "" : m.file;
  if (m.context)
    where += " in " + m.chain.substr(0, m.chain.find('\n'));
  if (m.object)
    where += fmt::format("{}object {}", where.empty() ? "" : ", ", m.object);
  return where;
}

bool too_little(const ProfileOptions &options, const Profile &p) {
  return options.rule == benefit::SignificanceRule::kShare &&
         p.rates.lost_seconds < benefit::kLeastSeconds;
}

Json expectation_json(const Expectation &expected) {
  const database::Realisation &r = expected.realisation;
  return {{"saved_seconds", expected.seconds()},
          {"saved_seconds_by_calibration", expected.by_calibration},
          {"realised_share", r.share},
          {"learned_from", Json{{"inputs", r.inputs},
                                {"base_runs", r.base_runs},
                                {"superpage_runs", r.superpage_runs}}}};
}

Json traces_of(const Profile &p) {
  Json traces = Json::array();
  for (const TraceSummary &t : p.traces)
    traces.push_back(Json{{"path", t.path},
                          {"build_id", text_or_null(t.build_id)},
                          {"sample_rate", t.rate},
                          {"regions", t.regions},
                          {"accesses_are", t.misses   ? "tlb-misses"
                                           : t.faults ? "faults"
                                                      : "accesses"},
                          {"period", t.weight},
                          {"allocations", t.allocations},
                          {"accesses", t.accesses},
                          {"seconds", t.seconds},
                          {"tlbs", t.tlbs},
                          {"forked", t.forked()},
                          {"complete", t.complete},
                          {"events", t.events},
                          {"lost", t.lost},
                          {"file_bytes", t.file_bytes},
                          {"read_bytes", t.read_bytes}});
  return traces;
}

Json mappings_of(const Profile &p) {
  Json mappings = Json::array();
  for (size_t i = 0; i < p.mappings.size(); i++) {
    const RankedMapping &m = p.mappings[i];
    Json category = {{"kind", kind_name(m.kind)},
                     {"id", hex(m.id)},
                     {"context", m.context ? Json(hex(m.context)) : Json()},
                     {"object", m.object ? Json(m.object) : Json()},
                     {"inlined_into", chain_of(m)},
                     {"function", text_or_null(m.function)},
                     {"file", text_or_null(m.file)},
                     {"line", m.line ? Json(m.line) : Json()}};
    if (!m.members.empty())
      category["sites"] = members_of(m);
    mappings.push_back(Json{{"rank", i + 1},
                            {"category", category},
                            {"steerable", m.steerable},
                            {"walks_overlap", m.walks_overlap},
                            {"page_bytes", page_bytes(m.result().page)},
                            {"superpages", m.result().page_count},
                            {"footprint_bytes", m.footprint_bytes},
                            {"accesses", m.accesses},
                            {"tlb_misses_base", m.tlb_misses_base},
                            {"tlb_misses", m.result().tlb_misses},
                            {"page_faults_base", m.page_faults_base},
                            {"page_faults", m.result().page_faults},
                            {"saved_cycles", m.mapping.saved_cycles},
                            {"saved_cycles_low", m.mapping.saved_cycles_low},
                            {"saved_cycles_high", m.mapping.saved_cycles_high},
                            {"pmb_percent", m.mapping.pmb_percent},
                            {"chosen", m.mapping.chosen},
                            {"sizes", sizes_of(m)}});
  }
  return mappings;
}

// Adds the rows of a mapping: its best page size, then the others.
void add_rows(Table &table, const RankedMapping &m, size_t rank, bool several_sizes) {
  const auto add_row = [&](const SizeResult &r, bool best) {
    std::vector<Cell> row = {{best ? std::to_string(rank) : ""},
                             {best ? printable(name_of(m)) : ""},
                             {best ? printable(place_of(m)) : ""}};
    if (several_sizes)
      row.push_back({readable_bytes(page_bytes(r.page))});
    row.push_back({fmt::format("{:.1f}", r.pmb_percent)});
    row.push_back({std::to_string(r.page_count)});
    row.push_back({best ? readable_bytes(m.footprint_bytes) : ""});
    row.push_back({fmt::format("{:.3g} -> {:.3g}", m.tlb_misses_base, r.tlb_misses)});
    row.push_back({fmt::format("{:.3g} ({:.3g} to {:.3g})", r.saved_cycles, r.saved_cycles_low,
                               r.saved_cycles_high)});
    row.push_back({best && m.mapping.chosen ? "yes" : "", Style::kGood});
    table.add_row(std::move(row));
  };
  add_row(m.result(), true);
  for (size_t i = 0; i < m.sizes.size(); i++)
    if (i != m.best)
      add_row(m.sizes[i], false);
}

std::string expectation_text(const Profile &p, const Expectation &expected) {
  const database::Realisation &r = expected.realisation;
  if (p.superpages_chosen && r.known())
    return fmt::format("expected of a run: {:.3g} s saved ({:.3g} s by calibration; {} runs have "
                       "saved {:.2f} of what was predicted)\n",
                       expected.seconds(), expected.by_calibration, r.superpage_runs, r.share);
  // Expect nothing from categories that directives cannot reach.
  return p.superpages_chosen && p.saved_steerable > 0
             ? fmt::format("expected of a run: {:.3g} s saved\n", expected.seconds())
             : std::string();
}

} // namespace

double saved_by_calibration(const Profile &profile, const benefit::CostModel &costs) {
  return profile.saved_steerable / costs.frequency_hz() / profile.runs();
}

bool is_empty(const Profile &p) {
  return std::all_of(p.traces.begin(), p.traces.end(),
                     [](const TraceSummary &t) { return t.empty(); });
}

Json analyze_document(const AnalyzeWords &words, const ProfileOptions &options, const Profile &p,
                      const Expectation &expected, const format::MachineProfile &machine) {
  return Json{{"schema", "smalloc.analyze/1"},
              {"traces", traces_of(p)},
              {"machine", machine.name},
              {"frequency_hz", benefit::CostModel(machine).frequency_hz()},
              {"frequency_assumed", !machine.frequency_hz},
              {"runs", p.runs()},
              {"run_seconds", options.seconds > 0 ? options.seconds : p.run_seconds() / p.runs()},
              {"has_accesses", p.has_accesses},
              {"significant", p.significant},
              {"significance", Json{{"rule", words.significance},
                                    {"tlb_misses_per_second", p.rates.tlb_misses_per_second},
                                    {"page_faults_per_second", p.rates.page_faults_per_second},
                                    {"translation_share", p.rates.translation_share},
                                    {"first_touch_share", p.rates.first_touch_share}}},
              {"budget_bytes", words.has_budget ? Json(options.budget_bytes) : Json()},
              {"categories", p.categories},
              {"miss_cycles_base", p.cycles_base},
              {"saved_cycles_all_superpages", p.saved_all},
              {"mappings", mappings_of(p)},
              {"chosen", Json{{"superpages", p.superpages_chosen},
                              {"saved_cycles_joint", p.saved_joint},
                              {"saved_cycles_additive", p.saved_additive}}},
              {"expected", expectation_json(expected)},
              {"directives_file", text_or_null(words.directives)}};
}

std::string analyze_text(const AnalyzeWords &words, const ProfileOptions &options, const Profile &p,
                         const Expectation &expected, Colour colour) {
  if (is_empty(p))
    return "nothing to analyze: no allocation and no access was recorded\n";
  // The count is of 2 MiB superpages only if no other page size was requested.
  const bool several =
      options.pages.size() > 1 || options.pages.front() != benefit::PageSize::kSuper;
  std::vector<std::string> head = {"RANK", "SITE", "WHERE"};
  if (several)
    head.emplace_back("PAGE");
  for (const char *title :
       {"PMB", several ? "PAGES" : "SUPERPAGES", "LIVE", "TLB MISSES", "SAVED CYCLES", "CHOSEN"})
    head.emplace_back(title);
  Table table(head);
  for (size_t i = 0; i < p.mappings.size(); i++)
    add_rows(table, p.mappings[i], i + 1, several);
  std::string text = table.print(colour) + "\n";
  text +=
      fmt::format("significance: {} (translation {:.1f} % of the time, {:.3g} TLB misses/s; first "
                  "touches {:.1f} %, {:.3g} page faults/s)\n",
                  p.significant            ? "yes"
                  : too_little(options, p) ? fmt::format("no, nothing is chosen: {:.2g} ms in all",
                                                         1000 * p.rates.lost_seconds)
                                           : "no, nothing is chosen",
                  100 * p.rates.translation_share, p.rates.tlb_misses_per_second,
                  100 * p.rates.first_touch_share, p.rates.page_faults_per_second);
  text +=
      fmt::format("all on base pages: {:.3g} cycles in misses; all on superpages: {:.3g} saved\n",
                  p.cycles_base, p.saved_all);
  text += fmt::format("chosen: {} superpages{}, {:.3g} cycles saved by all of them ({:.3g} as the "
                      "sum of each alone)\n",
                      p.superpages_chosen, several ? "' worth of memory" : "", p.saved_joint,
                      p.saved_additive);
  text += expectation_text(p, expected);
  if (p.superpages_chosen && std::any_of(p.traces.begin(), p.traces.end(),
                                         [](const TraceSummary &t) { return t.tlbs > 1; }))
    text += "the seconds saved are processor time, summed over all threads\n";
  if (!words.directives.empty())
    text += fmt::format("directives: {}\n", words.directives);
  return text;
}

std::string analyze_plot(const Profile &p) {
  std::vector<study::Point> points;
  for (const RankedMapping &m : p.mappings) {
    const std::string where =
        m.line ? fmt::format(" {}:{}", std::filesystem::path(m.file).filename().string(), m.line)
               : std::string();
    const std::string name = printable(name_of(m));
    // The rank leads to the table's row; several sites may have one name and place.
    points.push_back(
        {static_cast<double>(m.mapping.superpages), m.mapping.pmb_percent,
         fmt::format("{}: {}{}", points.size() + 1,
                     m.function.starts_with("_Z") ? short_function(name) : name, printable(where)),
         m.mapping.chosen});
  }
  return study::scatter_svg("What each site's superpages are worth", "superpages",
                            "percentage of the maximal benefit", "chosen", points);
}

} // namespace smalloc::cli
