// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// report_by_site.cpp joins the data of compiler, profile and run into one row per site. Sites have
// the same id in all three (docs/internals/design.md). Copies of an inlined site share one row.
#include "runtime/cli/report/report_sections.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

struct SiteRow {
  std::string name, place, decision, why;
  std::optional<double> pmb, predicted;
  bool chosen = false, named = false;
  std::optional<double> reached, peak_bytes;
};

constexpr const char *kNobody = "0000000000000000";

void keep_name(SiteRow &row, const Document &object) {
  // The name of a function is better than the id.
  if (row.name.empty() || (!row.named && !text_field(object, "function").empty()))
    row.name = site_name(object);
  row.named |= !text_field(object, "function").empty();
  if (row.place.empty())
    row.place = site_place(object);
}

void raise(std::optional<double> &to, std::optional<double> value) {
  if (value)
    to = std::max(to.value_or(0), *value);
}

} // namespace

HtmlSection site_by_site(const std::vector<ReportInput> &inputs) {
  std::map<std::string, SiteRow> rows;
  bool compiler = false, profile = false, run = false;
  const auto row_of = [&](const Document &object) -> SiteRow * {
    const std::string id = text_field(object, "id");
    if (id.empty() || id == kNobody)
      return nullptr;
    keep_name(rows[id], object);
    return &rows[id];
  };
  for (const ReportInput &input : inputs) {
    const std::string schema = text_field(input.document, "schema");
    if (schema == "smalloc.sites/1")
      for (const Document &site : field(input.document, "sites"))
        if (SiteRow *row = row_of(site)) {
          compiler = true;
          const std::string decision = text_field(site, "decision");
          // If there are several copies, show the one that pays.
          if (row->decision.empty() || decision == "superpage") {
            row->decision = decision;
            row->why = text_field(site, "why");
          }
        }
    if (schema == "smalloc.analyze/1")
      for (const Document &mapping : field(input.document, "mappings"))
        if (SiteRow *row = row_of(field(mapping, "category"))) {
          profile = true;
          raise(row->pmb, number_field(mapping, "pmb_percent"));
          raise(row->predicted, number_field(mapping, "superpages"));
          row->chosen |= flag_field(mapping, "chosen");
        }
    if (schema == "smalloc.stats/1")
      for (const Document &site : field(input.document, "sites"))
        if (SiteRow *row = row_of(site)) {
          run = true;
          raise(row->reached, number_field(site, "superpages_peak"));
          raise(row->peak_bytes, number_field(site, "peak_bytes"));
        }
  }
  if (compiler + profile + run < 2)
    return {};
  std::vector<const SiteRow *> order;
  for (const auto &[id, row] : rows)
    order.push_back(&row);
  std::stable_sort(order.begin(), order.end(), [](const SiteRow *a, const SiteRow *b) {
    return std::pair(a->pmb.value_or(-1), a->reached.value_or(-1)) >
           std::pair(b->pmb.value_or(-1), b->reached.value_or(-1));
  });
  std::vector<std::string> header = {"site", "where"};
  if (compiler)
    header.emplace_back("the compiler's decision");
  if (profile)
    for (const char *name : {"benefit (PMB)", "superpages it would take"})
      header.emplace_back(name);
  if (run)
    for (const char *name : {"superpages it had", "live at most"})
      header.emplace_back(name);
  HtmlTable table(std::move(header));
  const auto number = [](std::optional<double> value, const char *format) {
    return value ? html_number(*value, fmt::format(fmt::runtime(format), *value))
                 : HtmlCell{.text = "-"};
  };
  for (const SiteRow *row : order) {
    std::vector<HtmlCell> cells = {name_cell(row->name), place_cell(row->place)};
    if (compiler)
      cells.push_back({.text = row->decision.empty() ? "-" : row->decision,
                       .good = row->decision == "superpage",
                       .below = row->why});
    if (profile) {
      HtmlCell pmb = number(row->pmb, "{:.1f} %");
      if (row->pmb)
        pmb.share = *row->pmb / 100;
      pmb.good = row->chosen;
      cells.push_back(pmb);
      cells.push_back(number(row->predicted, "{:.0f}"));
    }
    if (run) {
      cells.push_back(number(row->reached, "{:.0f}"));
      const Document peak = row->peak_bytes ? Document{{"bytes", *row->peak_bytes}} : Document();
      cells.push_back(bytes_cell(peak, "bytes"));
    }
    table.add_row(std::move(cells));
  }
  std::string parties;
  for (const auto &[there, name] :
       {std::pair(compiler, "compiler"), std::pair(profile, "profile"), std::pair(run, "run")})
    if (there)
      parties += (parties.empty() ? "" : ", ") + std::string(name);
  return {"Site by site", "",
          html_paragraph("What " + parties + " say of the same sites; the most benefit first.") +
              table.html()};
}

} // namespace smalloc::cli
