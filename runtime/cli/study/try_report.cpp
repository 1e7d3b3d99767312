// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// try_report.cpp extracts the compared quantities from the runs and words them.
#include "runtime/cli/study/try_report.h"

#include "runtime/cli/sites/site_report.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/study/command_line.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;
using study::RunResult;
using study::Segment;

// The kernel counts CPU time in ticks of up to 10 ms.
constexpr double kTick = 0.01;

study::PairedChange change_of(const TryRuns &runs, double (*value)(const RunResult &),
                              double resolution) {
  std::vector<double> without, with;
  for (const RunResult &run : runs.without)
    without.push_back(value(run));
  for (const RunResult &run : runs.with)
    with.push_back(value(run));
  return study::paired_change(without, with, resolution);
}

study::Footprint largest(const std::vector<RunResult> &runs) {
  study::Footprint peak;
  for (const RunResult &run : runs)
    if (run.footprint.maximum_bytes() > peak.total().total())
      peak = run.footprint.peak();
  return peak;
}

uint64_t on_superpages(const study::PageUse &use) { return use.thp_bytes + use.hugetlb_bytes; }

const study::PageUse &of(const study::Footprint &footprint, Segment segment) {
  return footprint.segments[static_cast<size_t>(segment)];
}

Json change_json(const study::PairedChange &c) {
  return Json{{"without", c.before}, {"with", c.after}, {"ratio", c.ratio},
              {"low", c.low},        {"high", c.high},  {"clear", c.clear}};
}

std::string factor(double value) {
  return fmt::format("{:.{}f}x", value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

// "1.88x faster (1.80x to 1.96x)"; "no difference (0.98x to 1.01x)"; "unclear (0.6x to 1.9x)";
// "1.88x faster" of few pairs.
std::string change_text(const Json &change, bool few, const char *less, const char *more) {
  const double ratio = change["ratio"], low = change["low"], high = change["high"];
  if (!few && !change["clear"].get<bool>())
    return fmt::format("{} ({} to {})", high / low > kWideInterval ? "unclear" : "no difference",
                       factor(low), factor(high));
  if (few && std::fabs(ratio - 1) < study::kLeastChange)
    return "no difference";
  const bool gains = ratio >= 1;
  const std::string text =
      fmt::format("{} {}", factor(gains ? ratio : 1 / ratio), gains ? less : more);
  return few ? text
             : fmt::format("{} ({} to {})", text, factor(gains ? low : 1 / high),
                           factor(gains ? high : 1 / low));
}

std::string memory_text(const Json &change, bool few) {
  const double before = change["without"], after = change["with"];
  if (few ? std::fabs(after - before) < study::kLeastChange * before : !change["clear"].get<bool>())
    return "no difference";
  return fmt::format("{}{} ({:+.1f} %)", after < before ? "-" : "+",
                     readable_bytes(static_cast<uint64_t>(std::fabs(after - before))),
                     before > 0 ? 100 * (after / before - 1) : 0);
}

std::string headline(const Json &document) {
  const std::string result = document["result"], name = document["name"];
  const uint64_t pairs = document["pairs"];
  if (result == "unknown")
    return fmt::format("{}: {} pair{} of runs: too few to claim a difference", name, pairs,
                       pairs == 1 ? "" : "s");
  const char *words = result == "faster"   ? "faster with smalloc"
                      : result == "slower" ? "slower with smalloc"
                                           : "no difference beyond the spread of the runs";
  return fmt::format("{}: {} ({} pairs of runs; in brackets: 95 % interval)", name, words, pairs);
}

} // namespace

void add_runs(const TryRuns &runs, TryFacts &facts) {
  facts.cpu =
      change_of(runs, [](const RunResult &r) { return r.user_seconds + r.system_seconds; }, kTick);
  facts.user = change_of(runs, [](const RunResult &r) { return r.user_seconds; }, kTick);
  facts.faults = change_of(
      runs, [](const RunResult &r) { return static_cast<double>(r.minor_faults + r.major_faults); },
      1);
  // The kernel's peak is of the largest process; samples are of all processes together.
  facts.memory = change_of(
      runs,
      [](const RunResult &r) {
        return static_cast<double>(std::max(r.peak_resident_bytes, r.footprint.maximum_bytes()));
      },
      1);
  const study::Footprint with = largest(runs.with), without = largest(runs.without);
  facts.heap_bytes = of(with, Segment::kHeap).total();
  facts.heap_superpage_bytes = on_superpages(of(with, Segment::kHeap));
  facts.static_base_bytes = of(with, Segment::kStatic).base_bytes;
  facts.text_base_bytes = of(with, Segment::kText).base_bytes;
  facts.superpage_bytes_without = on_superpages(without.total());
}

Json try_document(const TryFacts &facts, const std::vector<std::string> &command,
                  const std::string &compile) {
  std::string line;
  for (const std::string &word : command)
    line += (line.empty() ? "" : " ") + study::shell_word(word);
  Json pages = Json::array();
  for (const PageProposal &proposal : page_proposals(facts))
    pages.push_back(Json{{"pages", proposal.pages}, {"reason", proposal.reason}});
  return Json{{"schema", "smalloc.try/1"},
              {"name", study::short_name(command)},
              {"command", line},
              {"pairs", facts.cpu.pairs},
              {"result", try_result_name(try_result(facts))},
              {"cpu_seconds", change_json(facts.cpu)},
              {"user_seconds", change_json(facts.user)},
              {"page_faults", change_json(facts.faults)},
              {"peak_memory_bytes", change_json(facts.memory)},
              {"superpage_bytes", Json{{"without", facts.superpage_bytes_without},
                                       {"with", facts.heap_superpage_bytes}}},
              {"heap_bytes", facts.heap_bytes},
              {"compiled_with_plugin", facts.has_sites},
              {"page_sizes", pages},
              {"next", next_steps(facts, line, compile)}};
}

std::string try_text(const Json &document, Colour colour) {
  const bool few = document["result"] == "unknown";
  const auto style = [&](const Json &change) {
    return few || !change["clear"].get<bool>()   ? Style::kFaint
           : change["ratio"].get<double>() > 1.0 ? Style::kGood
                                                 : Style::kBad;
  };
  std::string text = styled(printable(headline(document)), Style::kBold, colour) + "\n";
  Table table({"", "WITHOUT", "WITH", "DIFFERENCE"});
  const auto add_time = [&](const char *name, const Json &c) {
    table.add_row({{name},
                   {fmt::format("{:.2f} s", c["without"].get<double>())},
                   {fmt::format("{:.2f} s", c["with"].get<double>())},
                   {change_text(c, few, "faster", "slower"), style(c)}});
  };
  const auto bytes = [](const Json &value) {
    return readable_bytes(static_cast<uint64_t>(value.get<double>()));
  };
  add_time("CPU time", document["cpu_seconds"]);
  add_time("user time", document["user_seconds"]);
  const Json &faults = document["page_faults"], &memory = document["peak_memory_bytes"],
             &superpages = document["superpage_bytes"];
  table.add_row({{"page faults"},
                 {fmt::format("{:.0f}", faults["without"].get<double>())},
                 {fmt::format("{:.0f}", faults["with"].get<double>())},
                 {change_text(faults, few, "fewer", "more"), style(faults)}});
  table.add_row({{"peak memory"},
                 {bytes(memory["without"])},
                 {bytes(memory["with"])},
                 {memory_text(memory, few), style(memory)}});
  table.add_row(
      {{"on superpages"}, {bytes(superpages["without"])}, {bytes(superpages["with"])}, {""}});
  text += table.print(colour);
  std::string reasons, pages;
  for (const Json &proposal : document["page_sizes"]) {
    reasons += (reasons.empty() ? "" : ", ") + proposal["reason"].get<std::string>();
    pages += "," + proposal["pages"].get<std::string>();
  }
  text += reasons.empty()
              ? "other page sizes: none to propose\n"
              : fmt::format("other page sizes: {}: smalloc study --pages auto{} -- {}\n", reasons,
                            pages, printable(document["command"].get<std::string>()));
  for (const Json &step : document["next"])
    text += "next: " + printable(step.get<std::string>()) + "\n";
  return text;
}

} // namespace smalloc::cli
