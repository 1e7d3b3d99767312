// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// measured_report.cpp combines the analyses and runs of a program's builds: the recorded build is
// instrumented, other builds run.
#include "runtime/cli/history/measured_report.h"

#include "runtime/cli/history/history_store.h"
#include "runtime/cli/machine/profile_store.h"
#include "runtime/errors/diagnostics.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

Json optional(const std::optional<double> &value) { return value ? Json(*value) : Json(); }

std::string count_text(const Json &value) {
  return value.is_null() ? "-" : fmt::format("{:.3g}", value.get<double>());
}

// True if the profile is this machine's preset, or the profile that smalloc calibrate stored.
bool is_this_machine(const std::string &profile) {
  for (const char *name : {"", "stored"})
    try {
      if (load_profile(name).name == profile)
        return true;
    } catch (const Failure &) {
      // nothing is stored
    }
  return false;
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
                                               const std::string &build_id,
                                               const std::vector<database::Run> &runs) {
  const auto own = history.analyses(build_id);
  const database::Judgement j = database::judge(runs, own.empty() ? 0 : own.back().created_ns);
  const auto analyses = analyses_of_builds(history, build_id, history.path_of(build_id));
  const database::Analysis *analysis = database::analysis_of_input(analyses, j.input);
  std::vector<database::Deviation> list;
  if (analysis && j.host == host_name())
    list = database::deviations(analysis, j, is_this_machine(analysis->machine));
  if (const auto file = history.directives(build_id))
    if (auto given_up = database::given_up_since(analyses, runs, *file))
      list.push_back(std::move(*given_up));
  return list;
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
                : fmt::format("{:.3g} {} instead of {:.3g}", measured,
                              what == "tlb_misses" ? "TLB misses" : "page faults", predicted);
  }
  return text;
}

} // namespace smalloc::cli
