// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// report_history.cpp writes the section on a program's history, as `smalloc db show` prints it: the
// time that runs took with and without superpages, the directives, and a row per run and analysis.
#include "runtime/cli/report/report_sections.h"

#include "runtime/cli/history/history_store.h"
#include "runtime/cli/sites/site_report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

// Returns the program's name; the document's `program` is its build-id.
std::string program_of(const Document &d) {
  const std::string path = text_field(d, "path");
  return path.empty() ? text_field(d, "program").substr(0, 8) : file_name(path);
}

HtmlCell start_cell(const Document &object, const char *key) {
  const Document &value = field(object, key);
  return value.is_number_integer() ? HtmlCell{.text = readable_time(value.get<int64_t>())}
                                   : HtmlCell{.text = "-"};
}

HtmlCell word_cell(const Document &object, const char *key) {
  const std::string word = text_field(object, key);
  return {.text = word.empty() ? "-" : word};
}

// Shows the beginning of an input's hash.
HtmlCell input_cell(const Document &object) {
  constexpr size_t kShown = 8;
  const std::string input = text_field(object, "input");
  return {.text = input.empty() ? "-" : input.substr(0, kShown)};
}

HtmlCell seconds_cell(const Document &object, const char *key) {
  const auto seconds = number_field(object, key);
  return seconds ? html_number(*seconds, fmt::format("{:.2f}", *seconds)) : HtmlCell{.text = "-"};
}

// Returns what runs have measured, or what is missing for it.
std::string measured_text(const Document &comparison, const std::string &program) {
  const double base_runs = number_field(comparison, "base_runs").value_or(0),
               superpage_runs = number_field(comparison, "superpage_runs").value_or(0);
  const auto base = number_field(comparison, "base_seconds"),
             superpages = number_field(comparison, "superpage_seconds");
  if (!flag_field(comparison, "enough") || !base || !superpages)
    return fmt::format("{}: {} on base pages and {} with superpages are too few to compare",
                       program, how_many(base_runs, "run"), how_many(superpage_runs, "run"));
  const auto least = number_field(comparison, "base_least_seconds"),
             most = number_field(comparison, "base_most_seconds");
  const bool is_noise = least && most && *superpages >= *least && *superpages <= *most;
  return fmt::format("Measured: {} with superpages, {} on base pages (medians of {:.0f} and {}){}.",
                     time_text(*superpages), time_text(*base), superpage_runs,
                     how_many(base_runs, "run"),
                     flag_field(comparison, "slower") ? ": slower, so back on base pages"
                     : is_noise ? ": within the spread of the runs on base pages"
                                : "");
}

// Finds sites by their id: a directive has only the id and a comment.
std::map<std::string, const Document *> sites_of(const Document &d) {
  std::map<std::string, const Document *> sites;
  for (const Document &analysis : field(d, "analyses"))
    for (const Document &site : field(analysis, "ranking"))
      sites.emplace(text_field(site, "id"), &site);
  return sites;
}

HtmlTable directives_table(const Document &d) {
  const auto sites = sites_of(d);
  HtmlTable table(
      {"rank", "site", "where", "page", "benefit (PMB)", "trusted", "superpages", "held in runs"});
  std::vector<Document> directives;
  for (const Document &directive : field(d, "directives"))
    directives.push_back(directive);
  // By rank; those without one, which are on base pages, last.
  const auto rank_of = [](const Document &directive) {
    const double rank = number_field(directive, "rank").value_or(0);
    return rank > 0 ? rank : 1e18;
  };
  std::stable_sort(directives.begin(), directives.end(),
                   [&](const Document &a, const Document &b) { return rank_of(a) < rank_of(b); });
  for (const Document &directive : directives) {
    const auto site = sites.find(text_field(directive, "id"));
    const bool is_known = site != sites.end();
    const double rank = number_field(directive, "rank").value_or(0),
                 validated = number_field(directive, "validated").value_or(0);
    std::string page = text_field(directive, "page");
    if (flag_field(directive, "given_up"))
      page += " (given up)";
    table.add_row({rank > 0 ? count_cell(directive, "rank") : HtmlCell{.text = "-"},
                   is_known ? site_cell(*site->second)
                            : name_cell(text_field(directive, "comment").empty()
                                            ? text_field(directive, "id")
                                            : text_field(directive, "comment")),
                   place_cell(is_known ? site_place(*site->second) : ""),
                   {.text = page, .good = page == "2m" || page == "1g"},
                   percent_cell(number_field(directive, "pmb_percent")),
                   percent_cell(number_field(directive, "trusted_pmb_percent")),
                   count_cell(directive, "superpages"),
                   {.text = validated > 0 ? fmt::format("{:.0f} of {:.0f}",
                                                        number_field(directive, "held").value_or(0),
                                                        validated)
                                          : "-"}});
  }
  return table;
}

HtmlTable runs_table(const Document &d) {
  HtmlTable table({"run", "started (UTC)", "host", "kind", "policy", "input", "user s", "system s",
                   "peak memory", "page faults", "TLB misses", "superpages"});
  for (const Document &run : field(d, "runs"))
    table.add_row({count_cell(run, "id"), start_cell(run, "started_ns"), word_cell(run, "host"),
                   word_cell(run, "kind"), word_cell(run, "policy"), input_cell(run),
                   seconds_cell(run, "user_seconds"), seconds_cell(run, "system_seconds"),
                   bytes_cell(run, "peak_bytes"), count_cell(run, "minor_faults"),
                   count_cell(run, "tlb_misses"), count_cell(run, "superpages_peak")});
  return table;
}

HtmlTable analyses_table(const Document &d) {
  HtmlTable table({"analysis", "made (UTC)", "machine", "input", "traces", "saved a run",
                   "TLB misses, base pages", "with directives", "page faults, base pages",
                   "with directives", "superpages"});
  for (const Document &analysis : field(d, "analyses"))
    table.add_row(
        {count_cell(analysis, "id"), start_cell(analysis, "created_ns"),
         word_cell(analysis, "machine"), input_cell(analysis), count_cell(analysis, "traces"),
         time_cell(number_field(analysis, "saved_seconds")),
         count_cell(analysis, "tlb_misses_base"), count_cell(analysis, "tlb_misses_directed"),
         count_cell(analysis, "page_faults_base"), count_cell(analysis, "page_faults_directed"),
         count_cell(analysis, "superpages_chosen")});
  return table;
}

// Returns where runs differ from the analysis so much that a new recording is worth it.
std::string deviations_text(const Document &d) {
  std::string text;
  for (const Document &deviation : field(d, "deviations")) {
    std::string what = text_field(deviation, "what");
    std::replace(what.begin(), what.end(), '_', ' ');
    text += (text.empty() ? "" : ", ") + what;
    const auto measured = number_field(deviation, "measured"),
               predicted = number_field(deviation, "predicted");
    if (measured && predicted)
      text += fmt::format(" {} instead of {}", count_text(*measured), count_text(*predicted));
  }
  return text.empty() ? text
                      : "The runs differ from the analysed recording: " + text + ". Record again.";
}

std::string with_title(const char *title, const HtmlTable &table) {
  return table.empty() ? std::string() : fmt::format("<h3>{}</h3>\n", title) + table.html();
}

} // namespace

HtmlSection history_section(const ReportInput &input) {
  const Document &d = input.document, &comparison = field(d, "comparison"),
                 &realised = field(d, "realised");
  const std::string program = program_of(d), measured = measured_text(comparison, program);
  HtmlSection section{"History of " + (program.empty() ? input.name : program), "", ""};
  (flag_field(comparison, "enough") ? section.first : section.summary) = measured;
  section.body = html_paragraph(measured);
  // The seconds are sums over the inputs that have enough runs, one run of each.
  if (const auto saved = number_field(realised, "measured_seconds"),
      predicted = number_field(realised, "predicted_seconds"),
      inputs = number_field(realised, "inputs");
      saved && predicted && inputs.value_or(0) > 0)
    section.body +=
        html_paragraph(fmt::format("Superpages save {} a run; {} were predicted.",
                                   time_text(*saved / *inputs), time_text(*predicted / *inputs)));
  section.body += html_paragraph(deviations_text(d));
  section.body += with_title("runs", runs_table(d)) +
                  with_title("directives", directives_table(d)) +
                  with_title("analyses", analyses_table(d));
  return section;
}

} // namespace smalloc::cli
