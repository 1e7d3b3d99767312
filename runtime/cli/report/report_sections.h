// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// report_sections.h decides what `smalloc report` shows of a document of smalloc: analyses, sites, statistics and studies in
// their own way, any other as the tables that are in it; and, where several speak of the same sites, what each says of them.
#pragma once

#include "runtime/cli/report/document_fields.h"
#include "runtime/cli/report/html.h"

#include <string>
#include <vector>

namespace smalloc::cli {

struct ReportInput {
  std::string name; // of the file that it was read from
  Document document;
};

HtmlSection section_of(const ReportInput &input);
/// A row a site: what the compiler decided, what a profile says, what a run got. No rows (an empty body) unless two kinds of documents
/// name sites.
HtmlSection site_by_site(const std::vector<ReportInput> &inputs);

HtmlSection statistics_section(const ReportInput &input);
HtmlSection study_section(const ReportInput &input);

// Shared by the sections. "-": unknown.
HtmlCell percent_cell(std::optional<double> percent); // with a bar
std::string how_many(double n, const char *what);     // "1 site", "2 sites"
HtmlCell bytes_cell(const Document &object, const char *key);
HtmlCell count_cell(const Document &object, const char *key);
std::string site_name(const Document &object);  // the function, readable; else the id
std::string site_place(const Document &object); // file:line; else nothing
HtmlCell name_cell(std::string name, bool good = false);
HtmlCell
place_cell(const std::string &place); // without folders, which are shown to who points at it

} // namespace smalloc::cli
