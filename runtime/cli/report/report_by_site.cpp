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
  HtmlCell name;
  std::string place, decision, why;
  std::optional<double> pmb, predicted;
  bool chosen = false, named = false;
  std::optional<double> reached, peak_bytes;
};

constexpr const char *kNobody = "0000000000000000";

void keep_name(SiteRow &row, const Document &object) {
  // The name of a function is better than the id.
  if (row.name.text.empty() || (!row.named && !text_field(object, "function").empty()))
    row.name = site_cell(object);
  row.named |= !text_field(object, "function").empty();
  // Only the compiler knows the column: it distinguishes sites of one line.
  if (const std::string place = site_place_and_column(object); place.size() > row.place.size())
    row.place = place;
}

void raise(std::optional<double> &to, std::optional<double> value) {
  if (value)
    to = std::max(to.value_or(0), *value);
}

// Holds a row per site, and which of compiler, profile and run the inputs contain.
class SiteRows {
public:
  void add(const Document &document);
  bool has_several_parties() const { return compiler_ + profile_ + run_ > 1; }
  HtmlTable table() const;
  std::string parties() const;

private:
  SiteRow *row_of(const Document &object);
  void add_decision(const Document &site);
  void add_benefit(const Document &mapping);
  void add_memory(const Document &site);
  std::vector<const SiteRow *> in_order() const;
  std::vector<HtmlCell> cells_of(const SiteRow &row) const;

  std::map<std::string, SiteRow> rows_;
  bool compiler_ = false, profile_ = false, run_ = false;
};

SiteRow *SiteRows::row_of(const Document &object) {
  const std::string id = text_field(object, "id");
  if (id.empty() || id == kNobody)
    return nullptr;
  keep_name(rows_[id], object);
  return &rows_[id];
}

void SiteRows::add_decision(const Document &site) {
  SiteRow *row = row_of(site);
  if (!row)
    return;
  compiler_ = true;
  const std::string decision = text_field(site, "decision");
  // If there are several copies, show the one that pays.
  if (row->decision.empty() || decision == "superpage") {
    row->decision = decision;
    row->why = text_field(site, "why");
  }
}

void SiteRows::add_benefit(const Document &mapping) {
  if (SiteRow *row = row_of(field(mapping, "category"))) {
    profile_ = true;
    raise(row->pmb, number_field(mapping, "pmb_percent"));
    raise(row->predicted, number_field(mapping, "superpages"));
    row->chosen |= flag_field(mapping, "chosen");
  }
}

void SiteRows::add_memory(const Document &site) {
  if (SiteRow *row = row_of(site)) {
    run_ = true;
    raise(row->reached, number_field(site, "superpages_peak"));
    raise(row->peak_bytes, number_field(site, "peak_bytes"));
  }
}

void SiteRows::add(const Document &document) {
  const std::string schema = text_field(document, "schema");
  if (schema == "smalloc.sites/1")
    for (const Document &site : field(document, "sites"))
      add_decision(site);
  if (schema == "smalloc.analyze/1")
    for (const Document &mapping : field(document, "mappings"))
      add_benefit(mapping);
  if (schema == "smalloc.stats/1")
    for (const Document &site : field(document, "sites"))
      add_memory(site);
}

std::vector<const SiteRow *> SiteRows::in_order() const {
  std::vector<const SiteRow *> order;
  for (const auto &[id, row] : rows_)
    order.push_back(&row);
  std::stable_sort(order.begin(), order.end(), [](const SiteRow *a, const SiteRow *b) {
    return std::pair(a->pmb.value_or(-1), a->reached.value_or(-1)) >
           std::pair(b->pmb.value_or(-1), b->reached.value_or(-1));
  });
  return order;
}

std::vector<HtmlCell> SiteRows::cells_of(const SiteRow &row) const {
  const auto number = [](std::optional<double> value, const char *format) {
    return value ? html_number(*value, fmt::format(fmt::runtime(format), *value))
                 : HtmlCell{.text = "-"};
  };
  std::vector<HtmlCell> cells = {row.name, place_cell(row.place)};
  if (compiler_)
    cells.push_back(decision_cell(row.decision, row.why));
  if (profile_) {
    HtmlCell pmb = number(row.pmb, "{:.1f} %");
    if (row.pmb)
      pmb.share = *row.pmb / 100;
    pmb.good = row.chosen;
    cells.push_back(pmb);
    cells.push_back(number(row.predicted, "{:.0f}"));
  }
  if (run_) {
    cells.push_back(number(row.reached, "{:.0f}"));
    const Document peak = row.peak_bytes ? Document{{"bytes", *row.peak_bytes}} : Document();
    cells.push_back(bytes_cell(peak, "bytes"));
  }
  return cells;
}

HtmlTable SiteRows::table() const {
  std::vector<std::string> header = {"site", "where"};
  if (compiler_)
    header.emplace_back("the compiler's decision");
  if (profile_)
    header.insert(header.end(), {"benefit (PMB)", "superpages expected"});
  if (run_)
    header.insert(header.end(), {"superpages of the run", "peak live"});
  HtmlTable table(std::move(header));
  for (const SiteRow *row : in_order())
    table.add_row(cells_of(*row));
  return table;
}

std::string SiteRows::parties() const {
  std::string names;
  for (const auto &[there, name] :
       {std::pair(compiler_, "compiler"), std::pair(profile_, "profile"), std::pair(run_, "run")})
    if (there)
      names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

} // namespace

HtmlSection site_by_site(const std::vector<ReportInput> &inputs) {
  SiteRows rows;
  for (const ReportInput &input : inputs)
    rows.add(input.document);
  if (!rows.has_several_parties())
    return {};
  return {
      "Site by site", "",
      html_paragraph("What " + rows.parties() + " say of the same sites; the most benefit first.") +
          rows.table().html()};
}

} // namespace smalloc::cli
