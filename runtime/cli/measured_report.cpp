// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// measured_report.cpp decides which builds' analyses and runs are put together: instrumented programs are recorded, others run.
#include "runtime/cli/measured_report.h"

#include "runtime/cli/history_store.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

Json optional(const std::optional<double> &value) { return value ? Json(*value) : Json(); }

std::string count_text(const Json &value) {
  return value.is_null() ? "-" : fmt::format("{:.3g}", value.get<double>());
}

} // namespace

Json prediction_json(const database::Analysis *a) {
  if (!a)
    return {};
  return Json{{"analysis", a->id},
              {"tlb_misses_base", optional(a->tlb_misses_base)},
              {"tlb_misses_directed", optional(a->tlb_misses_directed)},
              {"page_faults_base", optional(a->page_faults_base)},
              {"page_faults_directed", optional(a->page_faults_directed)},
              {"touch_seconds", optional(a->touch_seconds)}};
}

std::string measured_text(const Json &c) {
  const Json &p = c["prediction"];
  const auto of_a_run = [&](const char *what, const char *measured, const char *predicted) {
    const Json &base = c[fmt::format("base_{}", measured)],
               &directed = c[fmt::format("superpage_{}", measured)];
    if (base.is_null() && directed.is_null())
      return std::string();
    return fmt::format("{}: {} on base pages, {} with directives{}\n", what, count_text(base),
                       count_text(directed),
                       p.is_null() || p[fmt::format("{}_base", predicted)].is_null()
                           ? ""
                           : fmt::format("; predicted {} and {}",
                                         count_text(p[fmt::format("{}_base", predicted)]),
                                         count_text(p[fmt::format("{}_directed", predicted)])));
  };
  std::string text = of_a_run("TLB misses of a run, counted", "tlb_misses", "tlb_misses") +
                     of_a_run("page faults of a run", "faults", "page_faults");
  if (!c["touch_seconds"].is_null())
    text += fmt::format(
        "first touch of a superpage: {:.3f} ms{}\n", 1000 * c["touch_seconds"].get<double>(),
        p.is_null() || p["touch_seconds"].is_null()
            ? ""
            : fmt::format("; predicted {:.3f}", 1000 * p["touch_seconds"].get<double>()));
  return text;
}

std::vector<database::Deviation> deviations_of(database::History &history,
                                               const std::string &build_id) {
  std::string path;
  for (const database::Program &p : history.programs())
    if (p.build_id == build_id)
      path = p.path;
  const Builds builds = builds_of(history, build_id, path);
  const auto own = history.analyses(build_id);
  const database::Judgement j =
      database::judge(history.runs(build_id), own.empty() ? 0 : own.back().created_ns);
  size_t given_up = 0, superpages = 0;
  if (const auto file = history.directives(build_id))
    for (const auto &[key, entry] : file->entries) {
      given_up += directives::is_given_up(entry);
      superpages += entry.page_shift > benefit::page_shift(benefit::PageSize::kBase);
    }
  return database::deviations(database::analysis_of_input(builds.analyses, j.input), j,
                              realisation_of(history, build_id, path, ""), given_up, superpages);
}

Json deviations_json(const std::vector<database::Deviation> &list) {
  Json document = Json::array();
  for (const database::Deviation &d : list)
    document.push_back(
        Json{{"what", d.what}, {"measured", d.measured}, {"predicted", d.predicted}});
  return document;
}

std::string deviations_text(const Json &list) {
  std::string text;
  for (const Json &d : list) {
    const std::string what = d["what"];
    const double measured = d["measured"], predicted = d["predicted"];
    text += text.empty() ? "" : ", ";
    text += what == "directives"
                ? fmt::format("{:.0f} of {:.0f} directives hold", measured, predicted)
            : what == "saved_seconds"
                ? fmt::format("superpages save {:.3g} s instead of {:.3g}", measured, predicted)
                : fmt::format("{:.3g} {} instead of {:.3g}", measured,
                              what == "tlb_misses" ? "TLB misses" : "page faults", predicted);
  }
  return text;
}

} // namespace smalloc::cli
