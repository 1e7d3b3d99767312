// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// history_report.cpp prints the most important columns; the documents have all.
#include "runtime/cli/history/history_report.h"

#include "runtime/cli/history/history_store.h"
#include "runtime/cli/history/measured_report.h"
#include "runtime/cli/sites/site_report.h"
#include "runtime/database/schema.h"
#include "runtime/errors/diagnostics.h"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;
using database::History;

constexpr size_t kShownRuns = 12;
constexpr size_t kMostNamedInputs = 4;

// Unknown values and empty texts are null.
template <class T> Json json_of(const T &value) { return value; }
Json json_of(const std::string &text) { return text.empty() ? Json() : Json(text); }
template <class T> Json json_of(const std::optional<T> &value) {
  return value ? Json(*value) : Json();
}

// Adds the record's columns that the document does not have yet.
template <class Record> void add_columns(Json &document, const Record &record) {
  database::visit_columns(record, [&](const char *name, const auto &member) {
    if (!document.contains(name))
      document[name] = json_of(member);
  });
}

Json analysis_json(const database::Analysis &a, bool with_ranking) {
  Json document{{"id", a.id},
                {"program", a.program},
                {"created_ns", a.created_ns},
                {"machine", a.machine},
                {"input", json_of(a.input)},
                {"traces", a.traces},
                {"accesses", a.accesses},
                {"seconds", a.seconds},
                {"significant", a.significant},
                {"miss_cycles_base", a.cycles_base},
                {"saved_cycles_all_superpages", a.saved_all},
                {"saved_cycles_joint", a.saved_joint},
                {"saved_seconds", json_of(a.saved_seconds)},
                {"tlb_misses_base", json_of(a.tlb_misses_base)},
                {"tlb_misses_directed", json_of(a.tlb_misses_directed)},
                {"page_faults_base", json_of(a.page_faults_base)},
                {"page_faults_directed", json_of(a.page_faults_directed)},
                {"touch_seconds", json_of(a.touch_seconds)},
                {"superpages_chosen", a.superpages_chosen}};
  if (!with_ranking)
    return document;
  Json ranking = Json::array();
  for (const database::RankedCategory &c : a.ranking)
    ranking.push_back(Json{{"rank", c.rank},
                           {"kind", c.kind},
                           {"id", c.category},
                           {"function", json_of(c.function)},
                           {"file", json_of(c.file)},
                           {"line", c.line},
                           {"superpages", c.superpages},
                           {"footprint_bytes", c.footprint_bytes},
                           {"saved_cycles", c.saved_cycles},
                           {"saved_cycles_low", c.saved_low},
                           {"saved_cycles_high", c.saved_high},
                           {"pmb_percent", c.pmb_percent},
                           {"chosen", c.chosen}});
  document["ranking"] = ranking;
  return document;
}

Json directives_json(const directives::File &file) {
  Json list = Json::array();
  for (const auto &[key, e] : file.entries)
    list.push_back(
        Json{{"id", fmt::format("{:016x}", key.site)},
             {"context", key.has_context ? Json(fmt::format("{:016x}", key.context)) : Json()},
             {"page", directives::page_name(e.page_shift)},
             {"rank", e.rank},
             {"pmb_percent", e.pmb_percent},
             {"trusted_pmb_percent", directives::trusted_pmb(e)},
             {"superpages", e.superpages},
             {"validated", e.validated},
             {"held", e.held},
             {"given_up", directives::is_given_up(e)},
             {"comment", e.comment}});
  return list;
}

std::string seconds_text(const Json &value) {
  return value.is_null() ? "-" : fmt::format("{:.2f}", value.get<double>());
}
std::string number_text(const Json &value) { return value.is_null() ? "-" : value.dump(); }
std::string bytes_text(const Json &value) {
  return value.is_null() ? "-" : readable_bytes(value.get<uint64_t>());
}
std::string text_of(const Json &value) {
  return value.is_null() ? "-" : printable(value.get<std::string>());
}

} // namespace

Json run_json(const database::Run &r) {
  Json document{{"id", r.id}, {"program", r.program}, {"path", r.path}, {"host", r.host}};
  add_columns(document, r);
  Json &validations = document["directives"] = Json::array();
  for (const database::Validation &v : r.validations)
    add_columns(validations.emplace_back(Json::object()), v);
  return document;
}

Json list_document(History &history) {
  Json programs = Json::array(), machines = Json::array();
  int64_t runs = 0, analyses = 0, directives = 0;
  for (const database::Program &p : history.programs()) {
    programs.push_back(Json{{"build_id", p.build_id},
                            {"path", p.path},
                            {"runs", p.runs},
                            {"analyses", p.analyses},
                            {"directives", p.directives},
                            {"first_seen_ns", p.first_seen_ns},
                            {"last_seen_ns", p.last_seen_ns}});
    runs += p.runs;
    analyses += p.analyses;
    directives += p.directives;
  }
  for (const database::Machine &m : history.machines())
    machines.push_back(Json{{"host", m.host},
                            {"profile", m.profile},
                            {"cpu", m.cpu},
                            {"processors", m.processors},
                            {"memory_bytes", m.memory_bytes},
                            {"last_seen_ns", m.last_seen_ns}});
  const size_t count = programs.size();
  const std::string &place = history.connection().where();
  return Json{{"schema", "smalloc.db-list/1"},
              {"database", place == database::kNoFile ? database_location({}) : place},
              {"version", history.connection().schema_version()},
              {"programs", programs},
              {"machines", machines},
              {"totals", Json{{"programs", count},
                              {"runs", runs},
                              {"analyses", analyses},
                              {"directives", directives}}}};
}

std::string list_text(const Json &document, Colour colour) {
  Table table({"PROGRAM", "BUILD-ID", "RUNS", "ANALYSES", "DIRECTIVES", "LAST SEEN (UTC)"});
  for (const Json &p : document["programs"])
    table.add_row(
        {{printable(std::filesystem::path(p["path"].get<std::string>()).filename().string()),
          Style::kBold},
         {shortened(p["build_id"].get<std::string>(), 16)},
         {p["runs"].dump()},
         {p["analyses"].dump()},
         {p["directives"].dump()},
         {readable_time(p["last_seen_ns"].get<int64_t>())}});
  const Json &totals = document["totals"];
  return table.print(colour) +
         fmt::format("\n{}: {} programs, {} runs, {} analyses, {} directives\n",
                     printable(document["database"].get<std::string>()), totals["programs"].dump(),
                     totals["runs"].dump(), totals["analyses"].dump(), totals["directives"].dump());
}

Json show_document(History &history, const std::string &program) {
  const auto run_list = history.runs(program);
  const auto file = todays_directives(history, program, run_list);
  const auto analyses = history.analyses(program);
  const int64_t since_ns = analyses.empty() ? 0 : analyses.back().created_ns;
  const database::Judgement j = database::judge(run_list, since_ns);
  Json runs = Json::array(), analysis_list = Json::array(), header = Json::object();
  for (const database::Run &run : run_list)
    runs.push_back(run_json(run));
  for (const database::Analysis &analysis : analyses)
    analysis_list.push_back(analysis_json(analysis, true));
  if (file)
    for (const auto &[key, value] : file->header)
      header[key] = value;
  const std::string path = run_list.empty() && analyses.empty() ? std::string()
                           : run_list.empty()                   ? analyses.back().path
                                                                : run_list.back().path;
  const database::Realisation realised = realisation_of(history, program, path, "");
  const auto all_analyses = analyses_of_builds(history, program, path);
  return Json{
      {"schema", "smalloc.db-show/1"},
      {"program", program},
      {"path", path},
      {"header", header},
      {"directives", file ? directives_json(*file) : Json::array()},
      {"comparison",
       Json{{"enough", j.enough},
            {"slower", j.slower},
            {"slower_inputs", database::slower_inputs(run_list, since_ns)},
            {"host", json_of(j.host)},
            {"input", json_of(j.input)},
            {"base_runs", j.base_runs},
            {"superpage_runs", j.superpage_runs},
            {"base_seconds", j.base_seconds},
            {"base_least_seconds", j.base_least_seconds},
            {"base_most_seconds", j.base_most_seconds},
            {"superpage_seconds", j.superpage_seconds},
            {"base_faults", json_of(j.base_faults)},
            {"superpage_faults", json_of(j.superpage_faults)},
            {"base_peak_bytes", j.base_peak_bytes},
            {"superpage_peak_bytes", j.superpage_peak_bytes},
            {"base_tlb_misses", json_of(j.base_tlb_misses)},
            {"superpage_tlb_misses", json_of(j.superpage_tlb_misses)},
            {"touch_seconds", json_of(j.touch_seconds)},
            {"prediction", prediction_json(database::analysis_of_input(all_analyses, j.input))}}},
      {"deviations", deviations_json(deviations_of(history, program, run_list))},
      {"realised", Json{{"share", realised.known() ? Json(realised.share) : Json()},
                        {"predicted_seconds", realised.predicted_seconds},
                        {"measured_seconds", realised.measured_seconds},
                        {"inputs", realised.inputs},
                        {"base_runs", realised.base_runs},
                        {"superpage_runs", realised.superpage_runs}}},
      {"analyses", analysis_list},
      {"runs", runs},
      {"totals", Json{{"runs", run_list.size()}, {"analyses", analyses.size()}}}};
}

namespace {

std::string directives_text(const Json &directives, Colour colour) {
  Table table({"SITE", "PAGE", "RANK", "PMB", "LEFT", "SUPERPAGES", "HELD", "WHERE"});
  for (const Json &d : directives) {
    const bool superpage = d["page"] != "base";
    table.add_row(
        {{d["id"].get<std::string>()},
         {d["page"].get<std::string>(), superpage ? Style::kGood : Style::kPlain},
         {d["given_up"].get<bool>() ? "given up"
          : d["rank"] == 0          ? "-"
                                    : d["rank"].dump()},
         {fmt::format("{:.1f}", d["pmb_percent"].get<double>())},
         {fmt::format("{:.1f}", d["trusted_pmb_percent"].get<double>())},
         {d["superpages"].dump()},
         {d["validated"] == 0 ? "-"
                              : fmt::format("{}/{}", d["held"].dump(), d["validated"].dump())},
         {text_of(d["comment"])}});
  }
  return "\n" + table.print(colour);
}

std::string runs_text(const Json &runs, Colour colour) {
  Table table({"RUN", "STARTED (UTC)", "HOST", "KIND", "POLICY", "INPUT", "USER S", "SYSTEM S",
               "PEAK", "FAULTS", "SUPERPAGES"});
  for (size_t i = runs.size() > kShownRuns ? runs.size() - kShownRuns : 0; i < runs.size(); i++) {
    const Json &r = runs[i];
    table.add_row({{r["id"].dump()},
                   {readable_time(r["started_ns"].get<int64_t>())},
                   {text_of(r["host"])},
                   {r["kind"].get<std::string>()},
                   {text_of(r["policy"])},
                   {shortened(text_of(r["input"]), 8)},
                   {seconds_text(r["user_seconds"])},
                   {seconds_text(r["system_seconds"])},
                   {bytes_text(r["peak_bytes"])},
                   {number_text(r["minor_faults"])},
                   {number_text(r["superpages_peak"])}});
  }
  std::string text = "\n" + table.print(colour);
  if (runs.size() > kShownRuns)
    text += fmt::format("the last {} of {} runs\n", kShownRuns, runs.size());
  return text;
}

std::string comparison_text(const Json &c) {
  if (!c["enough"].get<bool>())
    return fmt::format("\ncompared with base pages after {} runs of each kind (now {} and {}): "
                       "smalloc apply --base -- COMMAND, smalloc apply -- COMMAND\n",
                       database::kRunsToCompare, c["base_runs"].dump(), c["superpage_runs"].dump());
  return fmt::format("\nuser and system time: {:.2f} s on base pages ({} runs, {:.2f} to "
                     "{:.2f}), {:.2f} s with directives ({} runs){}\n",
                     c["base_seconds"].get<double>(), c["base_runs"].dump(),
                     c["base_least_seconds"].get<double>(), c["base_most_seconds"].get<double>(),
                     c["superpage_seconds"].get<double>(), c["superpage_runs"].dump(),
                     c["slower"].get<bool>() ? ": slower, put back to base pages" : "");
}

std::string slower_inputs_text(const Json &inputs) {
  std::vector<std::string> names;
  for (const Json &input : inputs)
    names.push_back(input == "" ? "unknown" : shortened(input.get<std::string>(), 8));
  names.resize(std::min(names.size(), kMostNamedInputs));
  return fmt::format("slower, and put back to base pages, with {} input{}: {}{}\n", inputs.size(),
                     inputs.size() == 1 ? "" : "s", fmt::join(names, ", "),
                     inputs.size() > names.size() ? ", ..." : "");
}

} // namespace

std::string show_text(const Json &document, Colour colour) {
  std::string text =
      fmt::format("{} ({})\n", text_of(document["program"]), text_of(document["path"]));
  if (!document["directives"].empty())
    text += directives_text(document["directives"], colour);
  if (!document["runs"].empty())
    text += runs_text(document["runs"], colour);
  const Json &c = document["comparison"];
  text += comparison_text(c);
  if (!c["slower_inputs"].empty())
    text += slower_inputs_text(c["slower_inputs"]);
  text += measured_text(c);
  if (const Json &r = document["realised"]; !r["share"].is_null())
    text += fmt::format("superpages save {:.3g} s a run instead of the predicted {:.3g} s: the "
                        "next analysis multiplies its prediction by {:.2f}\n",
                        r["measured_seconds"].get<double>() / r["inputs"].get<double>(),
                        r["predicted_seconds"].get<double>() / r["inputs"].get<double>(),
                        r["share"].get<double>());
  if (const std::string off = deviations_text(document["deviations"]); !off.empty())
    text +=
        fmt::format("these runs differ from the analysed recording ({}): record the program again, "
                    "with all its accesses: smalloc record --rate 1 -- COMMAND, of a build with "
                    "-fplugin-arg-smalloc-profile-generate\n",
                    off);
  return text;
}

Json export_document(History &history) {
  Json document = list_document(history);
  document["schema"] = "smalloc.db-export/1";
  Json runs = Json::array(), analyses = Json::array(), files = Json::array();
  for (const database::Run &run : history.runs(""))
    runs.push_back(run_json(run));
  for (const database::Analysis &analysis : history.analyses(""))
    analyses.push_back(analysis_json(analysis, true));
  for (const Json &program : document["programs"])
    if (const auto file = todays_directives(history, program["build_id"].get<std::string>()))
      files.push_back(
          Json{{"program", program["build_id"]}, {"directives", directives_json(*file)}});
  document["runs"] = runs;
  document["analyses"] = analyses;
  document["directives"] = files;
  return document;
}

} // namespace smalloc::cli
