// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_trace.cpp implements `smalloc trace show`, which prints what was recorded, and `smalloc trace
// compare`, which prints how similar two traces are. Similarity is the Hellinger affinity of their
// reuse-distance histograms (Cascaval et al. 2005, section 5.4: 54-60 % for related runs, 7 % for
// unrelated ones) and the difference of their miss ratios.
#include "runtime/cli/output.h"
#include "runtime/cli/sites/site_report.h"
#include "runtime/cli/verbs.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/profile/trace_follower.h"
#include "runtime/reuse/affinity.h"
#include "runtime/reuse/distance_counter.h"
#include "runtime/trace/reader.h"

#include <cmath>
#include <memory>
#include <set>
#include <unordered_map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Further markers are counted but not printed.
constexpr uint64_t kMostMarkers = 1000;

struct TraceOptions {
  OutputOptions output;
  std::string first, second;
  bool compare = false;
};

void warn_of_missing_end(const std::string &path) {
  print_warning("truncated trace", path,
                "its end is missing: the process was killed, aborted, called exec or still runs, "
                "the disk was full, or the file was cut");
}

void warn_of_damage(const trace::Reader &reader, const std::string &path) {
  if (reader.skipped_bytes())
    print_warning(
        "damaged trace", path,
        fmt::format("{} bytes belong to no whole chunk and were skipped", reader.skipped_bytes()));
  if (reader.bad_records())
    print_warning("damaged trace", path,
                  fmt::format("{} invalid records were skipped", reader.bad_records()));
  warn_of_left_out(reader, path);
}

// Counts the events of a trace.
class EventTotals {
public:
  void add(const trace::Event &e);

  uint64_t allocations = 0, frees = 0, reallocations = 0, runs = 0, phases = 0, last_ns = 0;
  uint64_t live_bytes = 0, peak_bytes = 0, faults = 0, lost = 0;
  double accesses = 0;
  bool ended = false;
  std::set<uint64_t> threads, sites;
  Json markers = Json::array();

private:
  void add_object(const trace::Event &e);
  void drop_object(uint64_t address);

  std::unordered_map<uint64_t, uint64_t> live_; // bytes by address
};

void EventTotals::add_object(const trace::Event &e) {
  drop_object(e.address);
  live_.emplace(e.address, e.bytes);
  live_bytes += e.bytes;
  peak_bytes = std::max(peak_bytes, live_bytes);
  sites.insert(e.site);
}

void EventTotals::drop_object(uint64_t address) {
  if (const auto at = live_.find(address); at != live_.end()) {
    live_bytes -= at->second;
    live_.erase(at);
  }
}

void EventTotals::add(const trace::Event &e) {
  last_ns = std::max(last_ns, e.time_ns);
  switch (e.type) {
  case trace::Type::kChunk:
    threads.insert(e.thread);
    break;
  case trace::Type::kAllocate:
    allocations++;
    add_object(e);
    break;
  case trace::Type::kReallocate:
    reallocations++;
    drop_object(e.old_address);
    add_object(e);
    break;
  case trace::Type::kFree:
    frees++;
    drop_object(e.address);
    break;
  case trace::Type::kAccess:
    for (const trace::AccessRun &run : e.accesses) {
      runs++;
      accesses += static_cast<double>(e.weight) * static_cast<double>(run.repeats + 1);
    }
    break;
  case trace::Type::kFault:
    faults = std::max(faults, e.minor + e.major);
    break;
  case trace::Type::kPhase:
    if (++phases <= kMostMarkers)
      markers.push_back(Json{{"name", std::string(e.text)},
                             {"seconds", static_cast<double>(e.time_ns) / 1e9},
                             {"thread", e.thread}});
    break;
  case trace::Type::kEnd:
    ended = true;
    lost += e.lost;
    break;
  default:
    break;
  }
}

Json totals_document(const std::string &path, const trace::Reader &reader, const EventTotals &t) {
  const trace::Header &header = reader.header();
  return Json{{"schema", "smalloc.trace-summary/1"},
              {"path", path},
              {"program", header.word("program")},
              {"build_id", header.word("build_id")},
              {"host", header.word("host")},
              {"source", header.word("source")},
              {"sample_rate", reader.rate()},
              {"complete", t.ended},
              {"seconds", static_cast<double>(t.last_ns) / 1e9},
              {"file_bytes", reader.file_bytes()},
              {"skipped_bytes", reader.skipped_bytes()},
              {"events", Json{{"allocations", t.allocations},
                              {"reallocations", t.reallocations},
                              {"frees", t.frees},
                              {"access_runs", t.runs},
                              {"accesses", t.accesses},
                              {"phases", t.phases},
                              {"page_faults", t.faults},
                              {"lost", t.lost},
                              {"unknown", reader.unknown_records()}}},
              {"phases", t.markers},
              {"totals", Json{{"threads", t.threads.size()},
                              {"sites", t.sites.size()},
                              {"peak_live_bytes", t.peak_bytes},
                              {"live_bytes_at_end", t.live_bytes}}}};
}

std::string totals_text(const trace::Reader &reader, const EventTotals &t, Colour colour) {
  Table table({"WHAT", "VALUE"});
  const auto row = [&](const char *what, std::string value) {
    table.add_row({{what}, {std::move(value)}});
  };
  row("program", printable(reader.header().word("program")));
  row("recorded on", printable(reader.header().word("host")));
  row("complete", t.ended ? "yes" : "no: its end is missing");
  row("time", fmt::format("{:.3f} s", static_cast<double>(t.last_ns) / 1e9));
  row("threads", fmt::format("{}", t.threads.size()));
  row("allocations", fmt::format("{} from {} sites, {} reallocations, {} frees", t.allocations,
                                 t.sites.size(), t.reallocations, t.frees));
  row("live at most", readable_bytes(t.peak_bytes));
  row("accesses", t.runs ? fmt::format("{:.0f} in {} runs of one page", t.accesses, t.runs)
                         : std::string("none recorded"));
  if (reader.rate() < 1)
    row("sampled", fmt::format("{:.3g} of the 2 MiB regions", reader.rate()));
  if (t.lost)
    row("lost", fmt::format("{} events", t.lost));
  row("page faults", fmt::format("{}", t.faults));
  for (const Json &marker : t.markers)
    row("phase", fmt::format("{:.3f} s: {}", marker["seconds"].get<double>(),
                             printable(marker["name"].get<std::string>())));
  return table.print(colour);
}

int show_trace(const TraceOptions &options) {
  const auto thresholds = parse_thresholds(options.output);
  set_quiet(options.output.quiet);
  const auto reader = open_trace(options.first);
  EventTotals totals;
  reader->read([&](const trace::Event &e) { totals.add(e); });
  if (!totals.ended)
    warn_of_missing_end(options.first);
  warn_of_damage(*reader, options.first);
  return finish(options.output, thresholds, totals_document(options.first, *reader, totals),
                [&](Colour colour) { return totals_text(*reader, totals, colour); });
}

// Reuse distances of the trace's runs of accesses to one page. A run counts once, since its repeats
// cannot miss. Those of a sampled trace are scaled up to the whole, where distances are longer.
struct Distances {
  reuse::Histogram histogram;
  double pages, rate;
  double miss_ratio(uint64_t capacity) const {
    return histogram.at_least(static_cast<double>(capacity)) / histogram.total();
  }
};
Distances distances_of(const std::string &path) {
  const auto opened = open_trace(path);
  trace::Reader &reader = *opened;
  reuse::DistanceCounter counter;
  std::vector<uint64_t> pages;
  bool ended = false;
  reader.read([&](const trace::Event &e) {
    ended |= e.type == trace::Type::kEnd;
    if (e.type != trace::Type::kAccess)
      return;
    pages.clear();
    for (const trace::AccessRun &run : e.accesses)
      pages.push_back(run.address >> 12);
    counter.access(pages);
  });
  if (!ended)
    warn_of_missing_end(path);
  warn_of_damage(reader, path);
  if (counter.accesses() == 0)
    throw Failure{"cannot compare the traces", path, "it holds no data accesses", {}, kFailed};
  return {counter.histogram().of_whole(reader.rate()),
          std::round(static_cast<double>(counter.distinct_pages()) / reader.rate()), reader.rate()};
}

int compare_traces(const TraceOptions &options) {
  const auto thresholds = parse_thresholds(options.output);
  set_quiet(options.output.quiet);
  const Distances first = distances_of(options.first), second = distances_of(options.second);
  Json curve = Json::array();
  double sum = 0, worst = 0;
  int points = 0;
  for (uint64_t capacity = 16; capacity <= 65536; capacity *= 2, points++) {
    const double a = first.miss_ratio(capacity), b = second.miss_ratio(capacity);
    sum += std::abs(a - b);
    worst = std::max(worst, std::abs(a - b));
    curve.push_back(Json{{"entries", capacity}, {"miss_ratio_a", a}, {"miss_ratio_b", b}});
  }
  const double affinity = reuse::hellinger_affinity(first.histogram, second.histogram);
  const Json document{
      {"schema", "smalloc.trace-compare/1"},
      {"a", Json{{"path", options.first}, {"sample_rate", first.rate}, {"pages", first.pages}}},
      {"b", Json{{"path", options.second}, {"sample_rate", second.rate}, {"pages", second.pages}}},
      {"hellinger_affinity", affinity},
      {"miss_ratio_error_mean", sum / points},
      {"miss_ratio_error_worst", worst},
      {"curve", curve}};
  return finish(options.output, thresholds, document, [&](Colour colour) {
    Table table({"TLB ENTRIES", "MISSES A", "MISSES B"});
    for (const Json &point : curve)
      table.add_row({{point["entries"].dump()},
                     {fmt::format("{:.4f}", point["miss_ratio_a"].get<double>())},
                     {fmt::format("{:.4f}", point["miss_ratio_b"].get<double>())}});
    return table.print(colour) +
           fmt::format("\nHellinger affinity {:.1f} %, miss ratio error {:.4f} (worst {:.4f})\n",
                       100 * affinity, sum / points, worst);
  });
}

std::function<int()> declare_trace(CLI::App &app) {
  auto options = std::make_shared<TraceOptions>();
  CLI::App *show = app.add_subcommand("show", "What a trace holds");
  show->add_option("TRACE", options->first, "A trace of smalloc record")->required()->type_name("");
  add_output_options(*show, options->output);
  CLI::App *compare = app.add_subcommand("compare", "How similar the accesses of two traces are");
  compare->add_option("A", options->first, "A trace with data accesses")->required()->type_name("");
  compare->add_option("B", options->second, "Another")->required()->type_name("");
  add_output_options(*compare, options->output);
  compare->callback([options] { options->compare = true; });
  app.require_subcommand(1);
  return [options] { return options->compare ? compare_traces(*options) : show_trace(*options); };
}

} // namespace

const Verb kTraceVerb = {
    "trace",
    "what a recorded trace holds, and how similar it is to another",
    "Reads traces of smalloc record, also torn ones. compare gives the Hellinger affinity of two "
    "traces' "
    "reuse distances (1: the same; related runs of one program above 0.5) and the error in miss "
    "ratios that taking one for the other would make.",
    {{"smalloc trace show app.trace", "what was recorded, in one table"},
     {"smalloc trace compare all.trace sampled.trace", "what sampling cost in accuracy"}},
    declare_trace};

} // namespace smalloc::cli
