// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// study_prediction.cpp obtains the factors of the prediction from their sources.
#include "runtime/cli/study/study_prediction.h"

#include "runtime/cli/machine/machine_measurement.h"
#include "runtime/cli/machine/profile_store.h"
#include "runtime/cli/progress.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/measure/curve.h"
#include "runtime/measure/miss_cost.h"
#include "runtime/measure/ticks.h"
#include "runtime/reuse/marker_list.h"
#include "runtime/trace/reader.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <unordered_set>

#include <fmt/format.h>
#include <unistd.h>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

double measure_frequency() {
  uint64_t chain = UINT64_MAX;
  for (int i = 0; i < 500; i++)
    chain = std::min(chain, calibrate::chain_ticks());
  return calibrate::ticks_per_second() * calibrate::kChainCycles / static_cast<double>(chain);
}

} // namespace

format::MachineProfile profile_for(const std::string &machine, bool quiet) {
  if (!machine.empty())
    return load_profile(machine);
  const char *config = std::getenv("XDG_CONFIG_HOME"), *home = std::getenv("HOME");
  if ((config && *config) || (home && *home))
    if (access(stored_profile_path().c_str(), R_OK) == 0)
      return load_profile("stored");
  // A preset's walks are those of bare metal. Under a hypervisor they cost several times as much,
  // so a bound from the preset would be wrong.
  try {
    Progress progress("measuring this machine", quiet);
    MachineMeasurement measured =
        measure_machine(true, [&](double done, const char *what) { progress.show(done, what); });
    progress.clear();
    if (walk_cycles(measured.profile, 1e5) > 0) {
      print_note(
          "no calibrated profile: the cost of a miss was measured briefly; smalloc calibrate "
          "measures it better and stores it");
      measured.profile.name = measured.noisy ? "measured briefly, noisy" : "measured briefly";
      return std::move(measured.profile);
    }
  } catch (const Failure &) {
    // too little memory, or too noisy without a preset
  }
  print_note("no calibrated profile, and none can be measured: the cost of a miss is this "
             "processor's preset; smalloc calibrate says why");
  return load_profile("native");
}

TracedMisses misses_of_trace(const std::string &path, uint64_t reach_pages,
                             uint64_t base_page_bytes) {
  TracedMisses result;
  try {
    trace::Reader reader(path);
    const double rate = reader.rate();
    // Only a share of the competing pages is in the trace, so take the same share of the entries.
    const auto capacity = std::max<uint64_t>(
        1, static_cast<uint64_t>(std::llround(static_cast<double>(reach_pages) * rate)));
    reuse::MarkerList tlb({capacity});
    const int shift = std::countr_zero(base_page_bytes);
    std::unordered_set<uint64_t> pages;
    std::vector<uint64_t> batch;
    double misses_before = 0;
    const bool each_missed = reader.header().word("samples") == "tlb-misses";
    reader.read([&](const trace::Event &event) {
      if (event.type != trace::Type::kAccess)
        return;
      batch.clear();
      double accesses = 0;
      for (const trace::AccessRun &run : event.accesses) {
        batch.push_back(run.address >> shift);
        pages.insert(batch.back());
        accesses += static_cast<double>(run.repeats + 1);
      }
      tlb.access(batch);
      const double misses_now = tlb.misses(capacity);
      result.misses += (each_missed ? accesses : misses_now - misses_before) *
                       static_cast<double>(event.weight) / rate;
      misses_before = misses_now;
      result.accesses += accesses * static_cast<double>(event.weight) / rate;
    });
    result.pages = static_cast<double>(pages.size()) / rate;
  } catch (const trace::TraceError &error) {
    throw Failure{"cannot read the trace", path, error.what(), "smalloc record -o TRACE -- ./app",
                  kFailed};
  }
  if (result.accesses <= 0)
    throw Failure{"cannot predict", path, "the trace holds no accesses, only allocations",
                  "compile with -fplugin-arg-smalloc-profile-generate, then smalloc record",
                  kFailed};
  return result;
}

TracedMisses misses_of_stream(const calibrate::StreamPlan &plan, uint64_t reach_pages,
                              uint64_t base_page_bytes) {
  const uint64_t of_array = std::max<uint64_t>(plan.bytes / 3 / base_page_bytes, 1);
  reuse::MarkerList tlb({reach_pages});
  std::vector<uint64_t> order;
  double first_touches = -1;
  for (unsigned arrays : calibrate::stream_passes(plan)) {
    order.clear();
    // Within a page of each array, the loops return to it before another page is evicted.
    for (uint64_t page = 0; page < of_array; page++)
      for (uint64_t array = 0; array < 3; array++)
        if (arrays >> array & 1)
          order.push_back(array * of_array + page);
    tlb.access(order);
    if (first_touches < 0)
      first_touches = tlb.misses(reach_pages);
  }
  return {tlb.misses(reach_pages) - first_touches, tlb.accesses(),
          static_cast<double>(3 * of_array)};
}

double walk_cycles(const format::MachineProfile &profile, double pages) {
  std::vector<calibrate::Point> curve;
  for (const format::WalkCost &cost : profile.walk_cost)
    if (cost.page_bytes == profile.base_page_bytes && cost.pages && cost.cycles.value)
      curve.push_back({*cost.pages, *cost.cycles.value});
  std::sort(curve.begin(), curve.end(),
            [](const calibrate::Point &a, const calibrate::Point &b) { return a.pages < b.pages; });
  return calibrate::cycles_at(curve, std::max(pages, 1.0));
}

StudyPredictor::StudyPredictor(const PredictionInput &input) : profile_(input.profile) {
  if (walk_cycles(profile_, 1e5) <= 0)
    throw Failure{"cannot predict", profile_.name, "the machine profile has no walk cost",
                  "smalloc calibrate", kFailed};
  const uint64_t reach = std::max<uint64_t>(profile_.reach(), 1);
  if (!input.trace.empty()) {
    traced_ = misses_of_trace(input.trace, reach, profile_.base_page_bytes);
    source_ = "trace";
  } else if (input.no_events.empty()) {
    source_ = "pmu";
  } else if (input.stream) {
    traced_ = misses_of_stream(*input.stream, reach, profile_.base_page_bytes);
    source_ = "stream";
  } else {
    throw Failure{
        "cannot predict", input.command,
        "TLB misses cannot be counted (" + input.no_events + "), and no trace was given",
        "compile with -fplugin-arg-smalloc-profile-generate, smalloc record -o t.trace -- "
        "./app, then add --trace t.trace",
        kFailed};
  }
  frequency_hz_ = profile_.frequency_hz.value_or(0);
  if (frequency_hz_ <= 0)
    frequency_hz_ = measure_frequency();
}

void StudyPredictor::add_to(Json &document, const Study &study) const {
  Json predictions = Json::array();
  for (size_t i = 0; i < study.commands.size(); i++) {
    const Json &results = document["commands"][i]["results"];
    const Json &base = results[0];
    const Json &events = base["events"];
    const bool counted = events["cycles"].is_number() && events["dtlb_misses"].is_number();
    if (!traced_ && !counted)
      continue;
    const double cycles = counted && events["cycles"].get<double>() > 0
                              ? events["cycles"].get<double>()
                              : base["user_seconds"].get<double>() * frequency_hz_;
    if (cycles <= 0)
      continue; // shorter than the kernel's clock tick
    const double misses = traced_ ? traced_->misses : events["dtlb_misses"].get<double>();
    const double pages = traced_ ? traced_->pages
                                 : base["footprint"]["maximum_bytes"].get<double>() /
                                       static_cast<double>(profile_.base_page_bytes);
    // The walk cycles counted in the same runs are the most accurate cost.
    const bool walks_counted = !traced_ && events["walk_cycles"].is_number() && misses > 0;
    const double cost =
        walks_counted ? events["walk_cycles"].get<double>() / misses : walk_cycles(profile_, pages);
    const double share = calibrate::translation_share(misses, cost, cycles);
    Json prediction{{"command", study.commands[i].name},
                    {"source", source_},
                    {"cost_source", walks_counted ? "pmu" : "curve"},
                    {"machine", profile_.name},
                    {"misses", misses},
                    {"cost_cycles", cost},
                    {"cycles", cycles},
                    {"translation_share", share},
                    {"bound_seconds", share * base["user_seconds"].get<double>()},
                    {"base_seconds", nullptr},
                    {"superpage_seconds", nullptr},
                    {"measured_gain", nullptr},
                    {"tolerance", nullptr},
                    {"within_bound", nullptr}};
    if (results.size() > 1) {
      // Use user time: superpages also save first touches, but these are system time.
      const double before = base["user_seconds"], after = results[1]["user_seconds"];
      const double gain = before > 0 ? 1 - after / before : 0;
      prediction["base_seconds"] = before;
      prediction["superpage_seconds"] = after;
      prediction["measured_gain"] = gain;
      // Gain that the spread alone can produce.
      const double median = base["seconds"]["median"];
      const Json &spread = base["seconds"]["deviation"];
      const double deviation = spread.is_number() ? spread.get<double>() : 0;
      const double tolerance = (median > 0 ? 2 * deviation / median : 0) + 0.01;
      prediction["tolerance"] = tolerance;
      prediction["within_bound"] = gain <= share + tolerance;
    }
    predictions.push_back(prediction);
  }
  document["predictions"] = predictions;
}

namespace {

std::string verdict(const Json &prediction) {
  if (!prediction["within_bound"].get<bool>())
    return "more than the bound";
  if (prediction["measured_gain"] <= prediction["translation_share"])
    return "within the bound";
  return fmt::format("above the bound by less than the spread of the runs, {:.1f} %",
                     100 * prediction["tolerance"].get<double>());
}

} // namespace

std::string prediction_text(const Json &document) {
  std::string text;
  for (const Json &p : document["predictions"]) {
    text += fmt::format(
        "\n{}: {:.3g} TLB misses ({}) x {:.0f} cycles ({}) = at most {:.1f} % of the time\n",
        printable(p["command"].get<std::string>()), p["misses"].get<double>(),
        p["source"].get<std::string>(), p["cost_cycles"].get<double>(),
        p["cost_source"] == "pmu" ? "counted" : printable(p["machine"].get<std::string>()),
        100 * p["translation_share"].get<double>());
    if (p["measured_gain"].is_number())
      text += fmt::format("predicted: at most {:.3f} s of {:.3f} s\n"
                          "measured: {:.1f} % of user time, {:.3f} s to {:.3f} s ({})\n",
                          p["bound_seconds"].get<double>(), p["base_seconds"].get<double>(),
                          100 * p["measured_gain"].get<double>(), p["base_seconds"].get<double>(),
                          p["superpage_seconds"].get<double>(), verdict(p));
  }
  return text.empty() ? "\nno prediction: the command is too short for the clock\n" : text;
}

} // namespace smalloc::cli
