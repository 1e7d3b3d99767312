// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// report_sections.h turns documents of smalloc into sections of `smalloc report`. Analyses, sites,
// statistics, studies, histories, machine profiles and checks of the system have their own
// sections; any other document is shown as its tables. If several documents name the same sites, a
// further section joins them.
#pragma once

#include "runtime/cli/report/document_fields.h"
#include "runtime/cli/report/html.h"

#include <string>
#include <vector>

namespace smalloc::cli {

struct ReportInput {
  std::string name; // of the source file
  Document document;
};

HtmlSection section_of(const ReportInput &input);
/// Returns a table with a row per site: the compiler's decision, the profile's result, and the
/// run's pages. The body is empty unless two kinds of documents name sites.
HtmlSection site_by_site(const std::vector<ReportInput> &inputs);

HtmlSection statistics_section(const ReportInput &input);
HtmlSection study_section(const ReportInput &input);
HtmlSection history_section(const ReportInput &input);
HtmlSection machine_section(const ReportInput &input);
HtmlSection doctor_section(const ReportInput &input);
HtmlSection other_section(const ReportInput &input); // of any document

// Returns the words of a key, or of a path of keys: "first_seen_ns" becomes "first seen".
// value_cell shows the unit.
std::string key_words(const std::string &path);
/// Shows a value in the unit that its key names: bytes, seconds, nanoseconds, hertz, or per cent.
HtmlCell value_cell(const std::string &path, const Document &value);

// Helpers of the sections. A cell shows "-" if the value is unknown.
HtmlCell percent_cell(std::optional<double> percent); // with a bar
std::string how_many(double n, const char *what);     // "1 site", "2 sites"
HtmlCell bytes_cell(const Document &object, const char *key);
HtmlCell count_cell(const Document &object, const char *key);
HtmlCell time_cell(std::optional<double> seconds); // "1.2 s", "34 ms"
std::string time_text(double seconds);
std::string count_text(double count); // "1,234", "12.3 M"
std::string file_name(const std::string &path);
std::string site_name(const Document &object);  // the readable function, else the id
std::string short_name(const Document &object); // the same without namespaces and arguments
std::string site_place(const Document &object); // file:line, or empty
std::string site_place_and_column(const Document &object); // the same with the column, if known
HtmlCell name_cell(std::string name, bool good = false);
// Shows the decision, and beside it the reason as far as there is room.
HtmlCell decision_cell(const std::string &decision, const std::string &why);
// Shows the short name; the tooltip has the whole one.
HtmlCell site_cell(const Document &object, bool good = false);
// Shows the place without its folders; the tooltip has them.
HtmlCell place_cell(const std::string &place);

} // namespace smalloc::cli
