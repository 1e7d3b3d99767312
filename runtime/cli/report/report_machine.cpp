// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// report_machine.cpp writes the sections on a machine: its profile, as `smalloc machine show` and
// `smalloc calibrate` print it, and the checks of `smalloc doctor`.
#include "runtime/cli/machine/profile_report.h"
#include "runtime/cli/report/report_sections.h"

#include <fmt/format.h>

namespace smalloc::cli {

HtmlSection machine_section(const ReportInput &input) {
  const bool calibrated = text_field(input.document, "schema") == "smalloc.calibrate/1";
  const Document &document = calibrated ? field(input.document, "profile") : input.document;
  const auto profile =
      profile_in(document.dump(-1, ' ', false, Document::error_handler_t::replace));
  if (!profile)
    return other_section(input);
  HtmlSection section{"The machine " + profile->name, profile_title(*profile), ""};
  HtmlTable table({"what", "value", "source"});
  for (const ProfileRow &row : profile_rows(*profile))
    table.add_row({{.text = row.what}, {.text = row.value}, {.text = row.source}});
  section.body = table.html();
  if (flag_field(input.document, "noisy"))
    section.body += html_paragraph("The repeats disagreed: calibrate again on an idle machine.");
  for (const std::string &line : profile->disagreements)
    section.body += html_paragraph(line);
  return section;
}

HtmlSection doctor_section(const ReportInput &input) {
  const Document &d = input.document, &totals = field(d, "totals");
  HtmlSection section{"Checks of the system", "", ""};
  HtmlTable table({"check", "result", "finding", "what to do"});
  // First what is wrong.
  for (const char *status : {"fail", "warn", "ok"})
    for (const Document &check : field(d, "checks"))
      if (text_field(check, "status") == status)
        table.add_row({{.text = text_field(check, "name")},
                       {.text = status, .good = check["status"] == "ok"},
                       {.text = text_field(check, "message")},
                       {.text = text_field(check, "fix")}});
  section.summary = fmt::format("system: {}, {:.0f} to look at, {:.0f} failed",
                                how_many(number_field(totals, "checks").value_or(0), "check"),
                                number_field(totals, "warn").value_or(0),
                                number_field(totals, "fail").value_or(0));
  section.body = table.html();
  return section;
}

} // namespace smalloc::cli
