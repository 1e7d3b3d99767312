// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// report_sections.cpp writes the sections with their tables.
#include "runtime/cli/report/report_sections.h"

#include "runtime/cli/sites/site_report.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/study/plot.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

std::string milliseconds(double seconds) {
  const double ms = seconds * 1000;
  return std::abs(ms) >= 99.95 && std::abs(ms) < 1e15 ? fmt::format("{:.0f}", ms)
                                                      : fmt::format("{:#.3g}", ms);
}

// Converts cycles of all runs to seconds of one run. Returns nullopt if the document, of an earlier
// version, has no frequency.
std::optional<double> seconds_of(const Document &d, double cycles) {
  const auto hertz = number_field(d, "frequency_hz"), runs = number_field(d, "runs");
  if (!hertz || !runs || !(*hertz > 0) || !(*runs > 0))
    return std::nullopt;
  return cycles / *hertz / *runs;
}

HtmlCell saved_cell(const Document &d, const Document &mapping) {
  const auto saved = number_field(mapping, "saved_cycles");
  const auto seconds = seconds_of(d, saved.value_or(0));
  HtmlCell cell = saved && seconds ? html_number(*seconds * 1000, milliseconds(*seconds))
                                   : count_cell(mapping, "saved_cycles");
  const auto low = number_field(mapping, "saved_cycles_low"),
             high = number_field(mapping, "saved_cycles_high");
  if (low && high && *low != *high)
    cell.below = seconds ? fmt::format("{} to {}", milliseconds(*seconds_of(d, *low)),
                                       milliseconds(*seconds_of(d, *high)))
                         : fmt::format("{:.3g} to {:.3g}", *low, *high);
  return cell;
}

// Returns name and place for sentences and pictures.
std::string point_name(const Document &category) {
  const std::string place = printable(file_name(site_place(category)));
  return short_name(category) + (place.empty() ? "" : " " + place);
}

// Returns the names of the chosen sites for a sentence. Sites of one name and place are counted.
std::string chosen_names(const Document &d) {
  constexpr size_t kMostNames = 3;
  std::vector<std::pair<std::string, double>> names;
  for (const Document &m : field(d, "mappings")) {
    if (!flag_field(m, "chosen"))
      continue;
    const std::string name = point_name(field(m, "category"));
    const auto at = std::find_if(names.begin(), names.end(),
                                 [&](const auto &known) { return known.first == name; });
    if (at != names.end())
      at->second++;
    else
      names.emplace_back(name, 1);
  }
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMostNames; i++) {
    text += (i ? ", " : "") + names[i].first;
    if (names[i].second > 1)
      text += " (" + how_many(names[i].second, "site") + ")";
  }
  return text + (names.size() > kMostNames ? " and others" : "");
}

// True if the time of a run is that of the recording, which takes longer than the program.
bool is_recordings_time(const Document &d, double run_seconds) {
  double seconds = 0;
  for (const Document &trace : field(d, "traces"))
    seconds += number_field(trace, "seconds").value_or(0);
  const double runs = number_field(d, "runs").value_or(0);
  return runs > 0 && std::abs(seconds / runs - run_seconds) <= 1e-3 * run_seconds;
}

// Returns the main result: how much is saved of how much time, for which memory, and which sites.
std::string first_of_analysis(const Document &d) {
  double more_bytes = 0, chosen = 0;
  for (const Document &m : field(d, "mappings")) {
    if (!flag_field(m, "chosen"))
      continue;
    const double bytes =
        number_field(m, "superpages").value_or(0) * number_field(m, "page_bytes").value_or(0);
    more_bytes += std::max(bytes - number_field(m, "footprint_bytes").value_or(0), 0.0);
    chosen++;
  }
  const auto run = number_field(d, "run_seconds"),
             saved = number_field(field(d, "expected"), "saved_seconds");
  if (!run || !saved)
    return {};
  const std::string time =
      time_text(*run) + (is_recordings_time(d, *run) ? " a run as recorded" : " a run");
  if (chosen == 0)
    return "Superpages would save nothing that is sure, of " + time + ".";
  const auto bytes = static_cast<uint64_t>(std::clamp(more_bytes, 0.0, 1e18));
  return fmt::format("You save {} of {}, for {} more memory. {} matter{}: {}.",
                     time_text(std::max(*saved, 0.0)), time,
                     bytes > 0 ? "at most " + readable_bytes(bytes) : "no",
                     how_many(chosen, "site"), chosen == 1 ? "s" : "", chosen_names(d));
}

// Returns how much time translation and first touches take. of: the traces.
std::string translation_paragraph(const Document &d, const std::string &of) {
  const Document &rates = field(d, "significance");
  return html_paragraph(fmt::format(
      "Of {}, for the TLB of {}. Translation takes {:.1f} % of the time ({} misses a second), "
      "first touches {:.1f} % ({} page faults a second){}.",
      of, text_field(d, "machine"), 100 * number_field(rates, "translation_share").value_or(0),
      count_text(number_field(rates, "tlb_misses_per_second").value_or(0)),
      100 * number_field(rates, "first_touch_share").value_or(0),
      count_text(number_field(rates, "page_faults_per_second").value_or(0)),
      flag_field(d, "significant") ? "" : ", too little to choose anything"));
}

// Returns the section on what superpages would save, per site.
HtmlSection analysis_section(const ReportInput &input) {
  const Document &d = input.document;
  HtmlSection section{"What superpages would save", "", ""};
  section.first = first_of_analysis(d);
  const bool knows_time = seconds_of(d, 0).has_value();
  HtmlTable table({"rank", "site", "where", "benefit (PMB)",
                   knows_time ? "ms saved" : "cycles saved", "superpages", "live",
                   "TLB misses, base pages", "on superpages", "chosen"});
  std::vector<study::Point> points;
  double chosen = 0;
  for (const Document &m : field(d, "mappings")) {
    const Document &category = field(m, "category");
    const bool taken = flag_field(m, "chosen");
    const double pmb = number_field(m, "pmb_percent").value_or(0);
    chosen += taken;
    table.add_row({count_cell(m, "rank"),
                   site_cell(category, taken),
                   place_cell(site_place(category)),
                   percent_cell(pmb),
                   saved_cell(d, m),
                   count_cell(m, "superpages"),
                   bytes_cell(m, "footprint_bytes"),
                   count_cell(m, "tlb_misses_base"),
                   count_cell(m, "tlb_misses"),
                   {.text = taken ? "yes" : "", .good = taken}});
    // The rank leads to the table's row; several sites may have one name and place.
    points.push_back(
        {std::max(number_field(m, "superpages").value_or(0), 0.0), pmb,
         fmt::format("{:.0f}: {}", number_field(m, "rank").value_or(0), point_name(category)),
         taken});
  }
  std::string of;
  for (const Document &trace : field(d, "traces"))
    of += (of.empty() ? "" : ", ") + file_name(text_field(trace, "path"));
  const Document &choice = field(d, "chosen");
  const double joint = number_field(choice, "saved_cycles_joint").value_or(0),
               all = number_field(d, "saved_cycles_all_superpages").value_or(0);
  section.summary =
      fmt::format("{}: superpages pay for {} of {}: {} that save {}", of, how_many(chosen, "site"),
                  number_field(d, "categories").value_or(0),
                  how_many(number_field(choice, "superpages").value_or(0), "superpage"),
                  knows_time ? time_text(*seconds_of(d, joint)) + " a run"
                             : fmt::format("{:.3g} cycles", joint));
  if (all > joint)
    section.summary +=
        fmt::format(" ({:.0f} % of what superpages for everything would save)", 100 * joint / all);
  else if (chosen > 0)
    section.summary += " (superpages for everything would not save more)";
  section.body = translation_paragraph(d, of);
  if (flag_field(d, "frequency_assumed"))
    section.body += html_paragraph(fmt::format(
        "The profile {} has no clock rate: the times are for {:.3g} GHz. `smalloc calibrate` "
        "measures this machine.",
        text_field(d, "machine"), number_field(d, "frequency_hz").value_or(0) / 1e9));
  if (const auto seconds = number_field(field(d, "expected"), "saved_seconds");
      seconds && chosen > 0)
    section.body += html_paragraph("Expected of a run: " + time_text(*seconds) + " saved.");
  if (!points.empty())
    section.body += "<figure>" +
                    study::scatter_svg("What each site's superpages are worth", "superpages",
                                       "percentage of the maximal benefit", "chosen", points) +
                    "</figure>\n" + table.html();
  return section;
}

// Returns the spread: a number of pages, or the expression that the compiler found.
HtmlCell spread_cell(const Document &site) {
  HtmlCell spread = count_cell(site, "spread_pages");
  if (spread.value)
    spread.text += " pages";
  else if (const std::string expression = text_field(site, "spread_expr"); !expression.empty())
    spread = name_cell(expression);
  return spread;
}

HtmlSection sites_section(const ReportInput &input) {
  const Document &d = input.document, &totals = field(d, "totals"), &machine = field(d, "machine");
  const std::string binary = file_name(text_field(field(d, "binary"), "path"));
  HtmlSection section{"Allocation sites of " + (binary.empty() ? input.name : binary), "", ""};
  // Copies of an inlined site are one row if the compiler decided the same for them.
  struct Row {
    const Document *site;
    double copies;
  };
  std::vector<Row> rows;
  std::map<std::string, size_t> known;
  for (const Document &site : field(d, "sites")) {
    const std::string id = text_field(site, "id");
    const std::string key = id + text_field(site, "decision") + text_field(site, "why");
    const auto [at, is_new] =
        known.emplace(id.empty() ? std::to_string(rows.size()) : key, rows.size());
    if (is_new)
      rows.push_back({&site, 1});
    else
      rows[at->second].copies++;
  }
  HtmlTable table({"site", "where", "calls", "pattern", "spread", "decision"});
  for (const auto &[at, copies] : rows) {
    const Document &site = *at;
    const std::string decision = text_field(site, "decision");
    HtmlCell name = site_cell(site), what = decision_cell(decision, text_field(site, "why"));
    if (copies > 1)
      name.beside = fmt::format("{:.0f} copies", copies);
    if (flag_field(site, "undecided"))
      what.text += " (undecided)";
    table.add_row({name,
                   place_cell(site_place_and_column(site)),
                   {.text = readable_function(text_field(site, "callee"))},
                   {.text = text_field(site, "pattern")},
                   spread_cell(site),
                   what});
  }
  section.summary = fmt::format(
      "{}: {}, {:.0f} on superpages, {:.0f} decided at run time, {:.0f} on base pages", binary,
      how_many(number_field(totals, "sites").value_or(0), "allocation site"),
      number_field(totals, "superpage").value_or(0), number_field(totals, "runtime").value_or(0),
      number_field(totals, "base").value_or(0));
  section.body =
      html_paragraph(fmt::format(
          "As the compiler decided{}.",
          text_field(machine, "name").empty() ? "" : " for " + text_field(machine, "name"))) +
      table.html();
  return section;
}

} // namespace

HtmlSection section_of(const ReportInput &input) {
  const std::string schema = text_field(input.document, "schema");
  if (schema == "smalloc.analyze/1")
    return analysis_section(input);
  if (schema == "smalloc.sites/1")
    return sites_section(input);
  if (schema == "smalloc.stats/1")
    return statistics_section(input);
  if (schema == "smalloc.study/1")
    return study_section(input);
  if (schema == "smalloc.db-show/1")
    return history_section(input);
  if (schema == "smalloc.machine/1" || schema == "smalloc.calibrate/1")
    return machine_section(input);
  if (schema == "smalloc.doctor/1")
    return doctor_section(input);
  return other_section(input);
}

} // namespace smalloc::cli
