// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// study_report.cpp writes the columns and keys. The table and the picture are made from the
// document, so that they agree with --json.
#include "runtime/cli/study/study_report.h"

#include "runtime/cli/sites/site_report.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/study/plot.h"

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;
using study::RunResult;

study::Summary summary_of(const StudyResult &result, double (*value)(const RunResult &)) {
  std::vector<double> values;
  for (const RunResult &run : result.runs)
    values.push_back(value(run));
  return study::summarize(std::move(values));
}

study::Summary summary_of(const StudyResult &result, StudyMetric metric) {
  std::vector<double> values;
  for (const RunResult &run : result.runs)
    values.push_back(metric_seconds(metric, run));
  return study::summarize(std::move(values));
}

Json summary_json(const study::Summary &s) {
  return Json{{"median", s.median},
              {"low", s.low},
              {"high", s.high},
              {"deviation", s.runs < study::kFewestRuns ? Json() : Json(s.deviation)}};
}

double faults(const RunResult &run) {
  return static_cast<double>(run.minor_faults + run.major_faults);
}

// Returns the footprint of the run with the most memory; the average is of the same run.
Json footprint_json(const StudyResult &result) {
  const RunResult *most = nullptr;
  uint64_t peak_resident = 0;
  for (const RunResult &run : result.runs) {
    peak_resident = std::max(peak_resident, run.peak_resident_bytes);
    if (run.footprint.samples() &&
        (!most || run.footprint.maximum_bytes() > most->footprint.maximum_bytes()))
      most = &run;
  }
  if (!most)
    return Json{{"samples", 0},
                {"average_bytes", nullptr},
                {"maximum_bytes", peak_resident},
                {"segments", Json::array()}};
  const study::Footprint peak = most->footprint.peak(),
                         average = most->footprint.average(most->wall_seconds);
  Json segments = Json::array();
  for (size_t i = 0; i < study::kSegments; i++)
    segments.push_back(Json{{"name", study::segment_name(static_cast<study::Segment>(i))},
                            {"base_bytes", peak.segments[i].base_bytes},
                            {"thp_bytes", peak.segments[i].thp_bytes},
                            {"hugetlb_bytes", peak.segments[i].hugetlb_bytes},
                            {"average_base_bytes", average.segments[i].base_bytes},
                            {"average_thp_bytes", average.segments[i].thp_bytes},
                            {"average_hugetlb_bytes", average.segments[i].hugetlb_bytes}});
  return Json{
      {"samples", most->footprint.samples()},
      {"average_bytes", static_cast<uint64_t>(most->footprint.average_bytes(most->wall_seconds))},
      // The kernel's peak includes the time between two samples, but not hugetlb pages.
      {"maximum_bytes", std::max(peak_resident, most->footprint.maximum_bytes())},
      {"segments", segments}};
}

// Returns the medians over the runs, for each quantity.
pmu::Counts counts_of(const StudyResult &result) {
  pmu::Counts counts;
  for (size_t i = 0; i < pmu::kQuantities; i++) {
    std::vector<double> values;
    for (const RunResult &run : result.runs)
      if (run.events.values[i])
        values.push_back(*run.events.values[i]);
    if (!values.empty())
      counts.values[i] = study::summarize(std::move(values)).median;
  }
  return counts;
}

Json events_json(const pmu::Counts &counts) {
  const auto json = [&](pmu::Quantity q) { return counts[q] ? Json(*counts[q]) : Json(); };
  return Json{{"cycles", json(pmu::Quantity::kCycles)},
              {"instructions", json(pmu::Quantity::kInstructions)},
              {"dtlb_misses", json(pmu::Quantity::kWalks)},
              {"walk_cycles", json(pmu::Quantity::kWalkCycles)},
              {"memory_stall_cycles", json(pmu::Quantity::kMemoryStalls)},
              {"cache_misses", json(pmu::Quantity::kCacheMisses)},
              {"branch_misses", json(pmu::Quantity::kBranchMisses)}};
}

Json cpi_json(const pmu::Counts &counts, const pmu::CpiCosts &costs) {
  const auto stack = pmu::cpi_stack(counts, costs);
  if (!stack)
    return Json();
  Json parts = Json::array();
  for (const pmu::CpiPart &part : stack->parts)
    parts.push_back(Json{{"name", part.name}, {"cpi", part.cpi}, {"source", part.source}});
  return Json{{"cpi", stack->cpi}, {"parts", parts}};
}

uint64_t superpage_bytes(const Json &result) {
  uint64_t sum = 0;
  for (const Json &segment : result["footprint"]["segments"])
    sum += segment["thp_bytes"].get<uint64_t>() + segment["hugetlb_bytes"].get<uint64_t>();
  return sum;
}

Json result_json(const Study &study, const StudiedCommand &command, const StudyResult &result) {
  const auto time = summary_of(result, study.metric);
  const auto base = summary_of(command.results.front(), study.metric);
  const bool is_base = &result == &command.results.front();
  const auto comparison = study::compare(base, time);
  return Json{{"configuration", result.configuration},
              {"runs", result.runs.size()},
              {"seconds", summary_json(time)},
              {"user_seconds",
               summary_of(result, [](const RunResult &r) { return r.user_seconds; }).median},
              {"system_seconds",
               summary_of(result, [](const RunResult &r) { return r.system_seconds; }).median},
              {"wall_seconds",
               summary_of(result, [](const RunResult &r) { return r.wall_seconds; }).median},
              {"speedup", is_base ? Json(1.0) : Json(comparison.speedup)},
              {"below_noise", is_base ? Json() : Json(comparison.below_noise)},
              {"repeats_needed",
               is_base || !comparison.repeats_needed ? Json() : Json(*comparison.repeats_needed)},
              {"page_faults", summary_of(result, faults).median},
              {"footprint", footprint_json(result)},
              {"events", events_json(counts_of(result))},
              {"cpi_stack", cpi_json(counts_of(result), study.costs)}};
}

std::string verdict_text(const Json &result) {
  if (result["below_noise"].is_null())
    return "";
  if (result["seconds"]["deviation"].is_null())
    return "too few runs to tell";
  if (!result["below_noise"].get<bool>())
    return result["speedup"].get<double>() >= 1 ? "faster" : "slower";
  if (result["repeats_needed"].is_null())
    return "below noise";
  return fmt::format("below noise; {}{} repeats needed",
                     result["repeats_needed"].get<uint64_t>() >= 10000 ? "more than " : "",
                     result["repeats_needed"].dump());
}

std::string count_text(const Json &value) {
  return value.is_number() ? fmt::format("{:.3g}", value.get<double>()) : std::string("-");
}

// Returns a part of the CPI stack, in cycles per instruction of the first configuration. As in the
// paper, all stacks of a command have the same unit, so that they show the run time.
std::string stack_cell(const Json &result, const Json &first, const char *name) {
  const Json &stack = result["cpi_stack"], &base = first["cpi_stack"];
  if (stack.is_null() || base.is_null() || base["cpi"].get<double>() <= 0)
    return "-";
  for (const Json &part : stack["parts"])
    if (part["name"] == name) {
      const double scale = result["events"]["instructions"].get<double>() /
                           first["events"]["instructions"].get<double>();
      return fmt::format("{:.3f}{}", part["cpi"].get<double>() * scale / base["cpi"].get<double>(),
                         part["source"] == "estimated" ? "~" : "");
    }
  return "-";
}

std::string events_text(const Json &document, Colour colour) {
  Table counts({"COMMAND", "PAGES", "CYCLES", "CPI", "TLB MISSES", "WALK CYCLES", "CACHE MISSES",
                "BRANCH MISSES"});
  Table stacks({"COMMAND", "PAGES", "TRANSLATION", "DCACHE", "BRANCH", "OTHER"});
  for (const Json &command : document["commands"])
    for (const Json &result : command["results"]) {
      const Json &e = result["events"], &stack = result["cpi_stack"];
      const std::string name = printable(command["name"].get<std::string>());
      counts.add_row({{name},
                      {result["configuration"]},
                      {count_text(e["cycles"])},
                      {stack.is_null() ? "-" : fmt::format("{:.2f}", stack["cpi"].get<double>())},
                      {count_text(e["dtlb_misses"])},
                      {count_text(e["walk_cycles"])},
                      {count_text(e["cache_misses"])},
                      {count_text(e["branch_misses"])}});
      const Json &first = command["results"][0];
      stacks.add_row({{name},
                      {result["configuration"]},
                      {stack_cell(result, first, "translation")},
                      {stack_cell(result, first, "dcache")},
                      {stack_cell(result, first, "branch")},
                      {stack_cell(result, first, "other")}});
    }
  return counts.print(colour) + "\n" + stacks.print(colour) +
         "\ncycles by cause, over all cycles of the first (~: estimated from events x cost)\n";
}

} // namespace

double metric_seconds(StudyMetric metric, const study::RunResult &run) {
  switch (metric) {
  case StudyMetric::kCpu:
    return run.user_seconds + run.system_seconds;
  case StudyMetric::kUser:
    return run.user_seconds;
  case StudyMetric::kWall:
    break;
  }
  return run.wall_seconds;
}

const char *metric_name(StudyMetric metric) {
  return metric == StudyMetric::kCpu ? "cpu" : metric == StudyMetric::kUser ? "user" : "wall";
}

Json study_document(const Study &study) {
  Json commands = Json::array();
  std::vector<std::vector<double>> speedups(study.configurations.size()),
      memories(study.configurations.size());
  for (const StudiedCommand &command : study.commands) {
    Json results = Json::array();
    for (size_t i = 0; i < command.results.size(); i++) {
      results.push_back(result_json(study, command, command.results[i]));
      speedups[i].push_back(results.back()["speedup"].get<double>());
      // Speed is only half of the result, so add the memory.
      const double first = results[0]["footprint"]["maximum_bytes"],
                   memory = results.back()["footprint"]["maximum_bytes"];
      memories[i].push_back(first > 0 && memory > 0 ? memory / first : 1);
    }
    commands.push_back(
        Json{{"name", command.name}, {"command", command.command}, {"results", results}});
  }
  Json means = Json::array();
  for (size_t i = 0; i < study.configurations.size(); i++)
    means.push_back(Json{{"configuration", study.configurations[i]},
                         {"speedup", study::geometric_mean(speedups[i])},
                         {"memory", study::geometric_mean(memories[i])}});
  return Json{{"schema", "smalloc.study/1"},
              {"metric", metric_name(study.metric)},
              {"configurations", study.configurations},
              {"skipped", study.skipped},
              {"no_events", study.no_events.empty() ? Json() : Json(study.no_events)},
              {"commands", commands},
              {"geometric_mean", means}};
}

std::string study_table(const Json &document, Colour colour) {
  Table table({"COMMAND", "PAGES", "SECONDS", "SPREAD", "SPEED-UP", "FAULTS", "MEMORY",
               "ON SUPERPAGES", ""});
  bool events = false, unsampled = false;
  for (const Json &command : document["commands"]) {
    std::string name = command["name"];
    for (const Json &result : command["results"]) {
      const double median = result["seconds"]["median"];
      const Json &deviation = result["seconds"]["deviation"];
      const bool noise = result["below_noise"].is_boolean() && result["below_noise"].get<bool>();
      const double speedup = result["speedup"];
      events |= result["events"]["cycles"].is_number();
      unsampled |= result["footprint"]["samples"] == 0;
      table.add_row(
          {{printable(name)},
           {result["configuration"]},
           {fmt::format("{:.3f}", median)},
           {median > 0 && deviation.is_number()
                ? fmt::format("{:.1f} %", 100 * deviation.get<double>() / median)
                : "-"},
           {fmt::format("{:.3f}", speedup), noise         ? Style::kFaint
                                            : speedup > 1 ? Style::kGood
                                            : speedup < 1 ? Style::kBad
                                                          : Style::kPlain},
           {fmt::format("{:.0f}", result["page_faults"].get<double>())},
           {readable_bytes(result["footprint"]["maximum_bytes"].get<uint64_t>())},
           {result["footprint"]["samples"] == 0 ? "-" : readable_bytes(superpage_bytes(result))},
           {verdict_text(result), noise ? Style::kWarn : Style::kPlain}});
      name.clear();
    }
  }
  std::string text = table.print(colour);
  if (document["commands"].size() > 1) {
    Table means({"GEOMETRIC MEAN", "SPEED-UP", "MEMORY"});
    for (const Json &mean : document["geometric_mean"])
      means.add_row({{mean["configuration"]},
                     {fmt::format("{:.3f}", mean["speedup"].get<double>())},
                     {fmt::format("{:.3f}x", mean["memory"].get<double>())}});
    text += "\n" + means.print(colour);
  }
  if (events)
    text += "\n" + events_text(document, colour);
  text +=
      fmt::format("\nmedian {} time; spread: robust standard deviation; memory: peak resident\n",
                  document["metric"].get<std::string>());
  if (unsampled)
    text += "-: the command ended before the first sample of its memory; --interval 0.01 samples "
            "more often\n";
  if (document["no_events"].is_string())
    text += "not counted: cycles, TLB misses, CPI stack: " +
            printable(document["no_events"].get<std::string>()) + "\n";
  for (const Json &line : document["skipped"])
    text += "skipped: " + printable(line.get<std::string>()) + "\n";
  return text;
}

std::string study_csv(const Study &study) {
  std::string text = "command,configuration,run,wall_seconds,user_seconds,system_seconds,minor_"
                     "faults,major_faults,peak_resident_bytes,average_bytes,maximum_sampled_bytes,"
                     "thp_bytes,hugetlb_bytes";
  for (size_t i = 0; i < study::kSegments; i++)
    for (const char *size : {"base", "thp", "hugetlb"})
      text +=
          fmt::format(",{}_{}_bytes", study::segment_name(static_cast<study::Segment>(i)), size);
  text += "\n";
  for (const StudiedCommand &command : study.commands)
    for (const StudyResult &result : command.results)
      for (size_t i = 0; i < result.runs.size(); i++) {
        const RunResult &run = result.runs[i];
        const study::PageUse peak = run.footprint.peak().total();
        std::string name = command.name; // double the quotes (RFC 4180)
        for (size_t at = 0; (at = name.find('"', at)) != std::string::npos; at += 2)
          name.insert(at, 1, '"');
        text += fmt::format("\"{}\",{},{},{:.6f},{:.6f},{:.6f},{},{},{},{:.0f},{},{},{}", name,
                            result.configuration, i + 1, run.wall_seconds, run.user_seconds,
                            run.system_seconds, run.minor_faults, run.major_faults,
                            run.peak_resident_bytes, run.footprint.average_bytes(run.wall_seconds),
                            peak.total(), peak.thp_bytes, peak.hugetlb_bytes);
        for (const study::PageUse &use : run.footprint.peak().segments)
          text += fmt::format(",{},{},{}", use.base_bytes, use.thp_bytes, use.hugetlb_bytes);
        text += "\n";
      }
  return text;
}

std::string study_svg(const Json &document) {
  std::vector<std::string> series;
  for (const Json &name : document.at("configurations"))
    series.push_back(name);
  study::BarChart speed{"speed-up over the first", "", 1, {}};
  study::BarChart memory{"memory, MiB", "", 0, {}};
  for (const Json &command : document.at("commands")) {
    study::BarGroup speeds{command.at("name"), {}}, sizes{command.at("name"), {}};
    if (command.at("results").empty())
      continue;
    const Json &first = command.at("results").at(0);
    const double base = first.at("seconds").at("median");
    for (const Json &result : command.at("results")) {
      const double median = result.at("seconds").at("median");
      study::Bar bar{result.at("speedup"), 0, 0,
                     result.at("below_noise").is_boolean() && result.at("below_noise").get<bool>()};
      if (median > 0) {
        bar.low = base / result.at("seconds").at("high").get<double>();
        bar.high = base / std::max(result.at("seconds").at("low").get<double>(), 1e-9);
      }
      speeds.bars.push_back(bar);
      const double mib = result.at("footprint").at("maximum_bytes").get<double>() / (1 << 20);
      sizes.bars.push_back({mib, mib, mib, false});
    }
    speed.groups.push_back(std::move(speeds));
    memory.groups.push_back(std::move(sizes));
  }
  return study::svg(
      fmt::format("Page sizes: median {} time", document.at("metric").get<std::string>()), series,
      {speed, memory});
}

} // namespace smalloc::cli
