// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// report_sections.cpp writes the sections with their tables.
#include "runtime/cli/report/report_sections.h"

#include "runtime/cli/sites/site_report.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/study/plot.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

constexpr size_t kMostColumns = 64; // of a list whose objects have different keys

std::string file_name(const std::string &path) {
  return std::filesystem::path(path).filename().string();
}

// Returns the site's name without parameters and template arguments, for sentences and pictures.
std::string short_name(const Document &object) {
  std::string name;
  int depth = 0;
  for (const char c : printable(site_name(object))) {
    if (c == '(' && depth == 0 && !name.empty())
      break;
    depth -= c == '>' && depth > 0;
    if (depth == 0)
      name += c;
    depth += c == '<';
  }
  return name;
}

std::string milliseconds(double seconds) {
  const double ms = seconds * 1000;
  return std::abs(ms) >= 100 && std::abs(ms) < 1e15 ? fmt::format("{:.0f}", ms)
                                                    : fmt::format("{:.3g}", ms);
}

// Formats a time: "1.2 s", "34 ms".
std::string time_text(double seconds) {
  return seconds >= 1 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.3g} ms", seconds * 1000);
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
  if (low && high)
    cell.below = seconds ? fmt::format("{} to {}", milliseconds(*seconds_of(d, *low)),
                                       milliseconds(*seconds_of(d, *high)))
                         : fmt::format("{:.3g} to {:.3g}", *low, *high);
  return cell;
}

// Returns the main result: how much is saved of how much time, for which memory, and which sites.
std::string first_of_analysis(const Document &d) {
  constexpr size_t kMostNames = 3;
  double more_bytes = 0, chosen = 0;
  std::string names;
  for (const Document &m : field(d, "mappings")) {
    if (!flag_field(m, "chosen"))
      continue;
    const double bytes =
        number_field(m, "superpages").value_or(0) * number_field(m, "page_bytes").value_or(0);
    more_bytes += std::max(bytes - number_field(m, "footprint_bytes").value_or(0), 0.0);
    const Document &category = field(m, "category");
    if (++chosen <= kMostNames)
      names += (names.empty() ? "" : ", ") + short_name(category) +
               (site_place(category).empty() ? "" : " " + file_name(site_place(category)));
  }
  const auto run = number_field(d, "run_seconds"),
             saved = number_field(field(d, "expected"), "saved_seconds");
  if (!run || !saved)
    return {};
  if (chosen == 0)
    return fmt::format("Superpages would save nothing that is sure, of {} a run.", time_text(*run));
  return fmt::format("You save {} of {} a run, for at most {} more memory. {} matter{}: {}{}.",
                     time_text(std::max(*saved, 0.0)), time_text(*run),
                     readable_bytes(static_cast<uint64_t>(std::clamp(more_bytes, 0.0, 1e18))),
                     how_many(chosen, "site"), chosen == 1 ? "s" : "", names,
                     chosen > kMostNames ? ", ..." : "");
}

// Returns how much time translation and first touches take. of: the traces.
std::string translation_paragraph(const Document &d, const std::string &of) {
  const Document &rates = field(d, "significance");
  return html_paragraph(fmt::format(
      "Of {}, for the TLB of {}. Translation takes {:.1f} % of the time ({:.3g} misses a second), "
      "first touches {:.1f} % ({:.3g} page faults a second){}.",
      of, text_field(d, "machine"), 100 * number_field(rates, "translation_share").value_or(0),
      number_field(rates, "tlb_misses_per_second").value_or(0),
      100 * number_field(rates, "first_touch_share").value_or(0),
      number_field(rates, "page_faults_per_second").value_or(0),
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
                   name_cell(site_name(category), taken),
                   place_cell(site_place(category)),
                   percent_cell(pmb),
                   saved_cell(d, m),
                   count_cell(m, "superpages"),
                   bytes_cell(m, "footprint_bytes"),
                   count_cell(m, "tlb_misses_base"),
                   count_cell(m, "tlb_misses"),
                   {.text = taken ? "yes" : "", .good = taken}});
    points.push_back({std::max(number_field(m, "superpages").value_or(0), 0.0), pmb,
                      short_name(category) + " " + printable(file_name(site_place(category))),
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
  if (all > 0)
    section.summary +=
        fmt::format(" ({:.0f} % of what superpages for everything would save)", 100 * joint / all);
  section.body = translation_paragraph(d, of);
  if (const auto seconds = number_field(field(d, "expected"), "saved_seconds");
      seconds && chosen > 0)
    section.body += html_paragraph(fmt::format("Expected of a run: {:.3g} s saved.", *seconds));
  if (!points.empty())
    section.body += "<figure>" +
                    study::scatter_svg("What each site's superpages are worth", "superpages",
                                       "percentage of the maximal benefit", "chosen", points) +
                    "</figure>\n" + table.html();
  return section;
}

HtmlSection sites_section(const ReportInput &input) {
  const Document &d = input.document, &totals = field(d, "totals"), &machine = field(d, "machine");
  const std::string binary = file_name(text_field(field(d, "binary"), "path"));
  HtmlSection section{"Allocation sites of " + (binary.empty() ? input.name : binary), "", ""};
  HtmlTable table({"site", "where", "calls", "pattern", "spread", "decision"});
  for (const Document &site : field(d, "sites")) {
    const std::string decision = text_field(site, "decision");
    HtmlCell what{
        .text = decision, .good = decision == "superpage", .below = text_field(site, "why")};
    if (flag_field(site, "undecided"))
      what.text += " (undecided)";
    HtmlCell spread = count_cell(site, "spread_pages");
    if (const std::string expression = text_field(site, "spread_expr");
        !spread.value && !expression.empty())
      spread = {.text = expression};
    else if (spread.value)
      spread.text += " pages";
    table.add_row({name_cell(site_name(site)),
                   place_cell(site_place(site)),
                   {.text = readable_function(text_field(site, "callee"))},
                   {.text = text_field(site, "pattern")},
                   spread,
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

// Flattens nested objects into entries with keys like "outer.inner", because a table cell cannot
// show JSON.
std::vector<std::pair<std::string, Document>> flat(const Document &object) {
  std::vector<std::pair<std::string, Document>> all;
  for (const auto &[key, value] : object.items()) {
    if (!value.is_object() || value.empty()) {
      all.emplace_back(key, value);
      continue;
    }
    for (auto &[inner, part] : flat(value))
      all.emplace_back(key + "." + inner, std::move(part));
  }
  return all;
}

// Returns the words of a list of numbers and words. For a list of objects it returns how many there
// are.
std::string words_of(const Document &value) {
  if (value.is_boolean())
    return value.get<bool>() ? "yes" : "no";
  if (!value.is_array())
    return "-";
  std::string words;
  for (const Document &element : value) {
    if (element.is_structured())
      return how_many(static_cast<double>(value.size()), value.size() == 1 ? "entry" : "entrie");
    words +=
        (words.empty() ? "" : ", ") +
        (element.is_string() ? element.get<std::string>()
                             : element.dump(-1, ' ', false, Document::error_handler_t::replace));
  }
  return words.empty() ? "-" : words;
}

// Returns the section of an unknown document: its numbers and words, and a table per list of
// objects.
HtmlSection other_section(const ReportInput &input) {
  const Document &d = input.document;
  HtmlSection section{text_field(d, "schema") + ": " + input.name, "", ""};
  HtmlTable plain({"key", "value"});
  const auto plain_cell = [](const Document &value) {
    return value.is_number()   ? html_number(value.get<double>(), value.dump())
           : value.is_string() ? name_cell(value.get<std::string>())
           : value.is_null()   ? HtmlCell{.text = "-"}
                               : HtmlCell{.text = words_of(value)};
  };
  std::string lists;
  for (const auto &[key, value] : flat(d)) {
    if (key == "schema")
      continue;
    if (!value.is_array() || value.empty() ||
        !std::all_of(value.begin(), value.end(), [](const Document &e) { return e.is_object(); })) {
      plain.add_row({{.text = key}, plain_cell(value)});
      continue;
    }
    std::vector<std::string> columns;
    std::vector<std::map<std::string, Document>> rows;
    for (const Document &element : value) {
      rows.emplace_back();
      for (const auto &[name, inner] : flat(element)) {
        rows.back().emplace(name, inner);
        if (columns.size() <= kMostColumns &&
            std::find(columns.begin(), columns.end(), name) == columns.end())
          columns.push_back(name);
      }
    }
    if (columns.size() > kMostColumns) {
      plain.add_row({{.text = key}, {.text = words_of(value)}});
      continue;
    }
    HtmlTable table(columns);
    for (const auto &row : rows) {
      std::vector<HtmlCell> cells;
      for (const std::string &name : columns) {
        const auto at = row.find(name);
        cells.push_back(plain_cell(at == row.end() ? Document() : at->second));
      }
      table.add_row(std::move(cells));
    }
    lists += "<h3>" + escaped_html(key) + "</h3>\n" + table.html();
  }
  section.body = (plain.empty() ? "" : plain.html()) + lists;
  return section;
}

} // namespace

HtmlCell percent_cell(std::optional<double> percent) {
  if (!percent)
    return {.text = "-"};
  HtmlCell cell = html_number(*percent, fmt::format("{:.1f} %", *percent));
  cell.share = *percent / 100;
  return cell;
}

std::string how_many(double n, const char *what) {
  return fmt::format("{:.0f} {}{}", n, what, n == 1 ? "" : "s");
}

HtmlCell bytes_cell(const Document &object, const char *key) {
  const auto bytes = number_field(object, key);
  if (!bytes)
    return {.text = "-"};
  return html_number(*bytes, readable_bytes(static_cast<uint64_t>(std::clamp(*bytes, 0.0, 1e18))));
}

HtmlCell count_cell(const Document &object, const char *key) {
  const auto count = number_field(object, key);
  if (!count)
    return {.text = "-"};
  const bool whole =
      *count == static_cast<double>(static_cast<int64_t>(std::clamp(*count, -1e15, 1e15)));
  return html_number(*count, whole && *count < 1e7 ? fmt::format("{:.0f}", *count)
                                                   : fmt::format("{:.3g}", *count));
}

HtmlCell name_cell(std::string name, bool good) {
  return {.text = std::move(name), .good = good, .is_name = true};
}

HtmlCell place_cell(const std::string &place) {
  return {.text = file_name(place), .is_name = true, .full = place};
}

std::string site_name(const Document &object) {
  const std::string function = text_field(object, "function");
  return function.empty() ? text_field(object, "id") : readable_function(function);
}

std::string site_place(const Document &object) {
  const std::string file = text_field(object, "file");
  const auto line = number_field(object, "line");
  return file.empty() || !line || *line < 1 ? file : fmt::format("{}:{:.0f}", file, *line);
}

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
  return other_section(input);
}

} // namespace smalloc::cli
