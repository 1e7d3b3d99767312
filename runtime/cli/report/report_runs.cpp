// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// report_runs.cpp writes the sections on executions: the statistics of one run, and the runs that a
// study compared.
#include "runtime/cli/report/report_sections.h"

#include "runtime/cli/study/study_report.h"

#include <fmt/format.h>

namespace smalloc::cli {

HtmlSection statistics_section(const ReportInput &input) {
  const Document &d = input.document, &counters = field(d, "counters");
  const std::string program = text_field(d, "program");
  HtmlSection section{"A run of " + (program.empty() ? input.name : program), "", ""};
  HtmlTable heaps({"heap", "resident", "on superpages", "coverage"});
  for (const Document &heap : field(d, "heaps")) {
    if (number_field(heap, "resident_bytes").value_or(0) <= 0)
      continue;
    const auto coverage = number_field(heap, "coverage");
    heaps.add_row({{.text = text_field(heap, "name")},
                   bytes_cell(heap, "resident_bytes"),
                   bytes_cell(heap, "superpage_bytes"),
                   percent_cell(coverage ? std::optional<double>(*coverage * 100) : std::nullopt)});
  }
  HtmlTable sites({"site", "where", "requested", "live", "peak", "superpages now", "at most"});
  for (const Document &site : field(d, "sites"))
    sites.add_row({site_name(site).empty() ? name_cell("memory without a site") : site_cell(site),
                   place_cell(site_place(site)), bytes_cell(site, "requested_bytes"),
                   bytes_cell(site, "live_bytes"), bytes_cell(site, "peak_bytes"),
                   count_cell(site, "superpages"), count_cell(site, "superpages_peak")});
  const double peak = number_field(counters, "superpages_peak").value_or(0),
               mapped = number_field(counters, "mapped_superpages_advised").value_or(0) +
                        number_field(counters, "mapped_superpages_promoted").value_or(0);
  section.summary = fmt::format("{}: heaps {}, at most {}", program, text_field(d, "state"),
                                how_many(peak, "superpage"));
  if (mapped > 0)
    section.summary += fmt::format(", and {:.0f} in memory that the program maps", mapped);
  if (const double fallbacks = number_field(counters, "fallbacks").value_or(0); fallbacks > 0)
    section.summary +=
        fmt::format("; the program's malloc served {} that libsmalloc's heaps could not",
                    how_many(fallbacks, "request"));
  section.body = html_paragraph(
      fmt::format("Strategy {}, transparent huge pages {}.", text_field(d, "strategy"),
                  text_field(d, "thp").empty() ? "-" : text_field(d, "thp")));
  section.body += heaps.empty() ? html_paragraph("No heap had memory.") : heaps.html();
  section.body += sites.empty() ? "" : sites.html();
  HtmlTable counted({"counter", "value"});
  if (counters.is_object())
    for (const auto &[name, value] : counters.items())
      if (value.is_number() && value.get<double>() != 0)
        counted.add_row({{.text = key_words(name)}, value_cell(name, value)});
  if (!counted.empty())
    section.body +=
        "<details><summary>all counters that are not 0</summary>" + counted.html() + "</details>\n";
  return section;
}

HtmlSection study_section(const ReportInput &input) {
  const Document &d = input.document;
  HtmlSection section{"Page sizes compared", "", ""};
  HtmlTable table({"command", "pages", "seconds", "speed-up", "page faults", "memory"});
  std::string best;
  for (const Document &command : field(d, "commands"))
    for (const Document &result : field(command, "results")) {
      const auto speedup = number_field(result, "speedup");
      const bool noise = flag_field(result, "below_noise");
      HtmlCell seconds = count_cell(field(result, "seconds"), "median");
      if (const auto deviation = number_field(field(result, "seconds"), "deviation"))
        seconds.below = fmt::format("± {:.3g}", *deviation);
      HtmlCell gain =
          speedup ? html_number(*speedup, fmt::format("{:.2f}x", *speedup)) : HtmlCell{.text = "-"};
      gain.good = speedup && *speedup > 1 && !noise;
      if (noise)
        gain.below = "below the noise";
      table.add_row({{.text = text_field(command, "name")},
                     {.text = text_field(result, "configuration")},
                     seconds,
                     gain,
                     count_cell(result, "page_faults"),
                     bytes_cell(field(result, "footprint"), "maximum_bytes")});
    }
  for (const Document &mean : field(d, "geometric_mean"))
    best +=
        fmt::format("{}{} {:.2f}x at {:.2f} times the memory", best.empty() ? "" : ", ",
                    text_field(mean, "configuration"), number_field(mean, "speedup").value_or(0),
                    number_field(mean, "memory").value_or(0));
  section.summary = "Page sizes: " + best;
  try {
    section.body = "<figure>" + study_svg(d) + "</figure>\n";
  } catch (const Document::exception &) {
    // A foreign document may have other types; the table still shows its values.
  }
  section.body += table.html();
  return section;
}

} // namespace smalloc::cli
