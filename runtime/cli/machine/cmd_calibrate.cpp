// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_calibrate.cpp implements `smalloc calibrate`. It measures the machine, stores the profile and
// prints one of: the profile, a comparison with the stored one (--check), or the four lines of
// libhugetlbfs' tlbmiss_cost.sh (--tlbmiss-cost).
#include "runtime/calibrate/calibrated_profile.h"
#include "runtime/cli/free_memory.h"
#include "runtime/cli/machine/machine_measurement.h"
#include "runtime/cli/machine/profile_report.h"
#include "runtime/cli/machine/profile_store.h"
#include "runtime/cli/output.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/sites/site_report.h"
#include "runtime/cli/verbs.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/measure/miss_cost.h"
#include "runtime/measure/page_region.h"
#include "runtime/measure/pointer_chase.h"
#include "runtime/measure/ticks.h"
#include "runtime/study/command_line.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CalibrateOptions {
  OutputOptions output;
  std::string profile; // empty: the place of the stored profile
  bool quick = false, check = false, miss_cost = false, verbose = false;
};

// Bytes that the chases of a walk curve touch. With less memory in pieces, most of their pages come
// from whole blocks.
constexpr uint64_t kManyPieces = uint64_t{512} << 20;

// Loads the profile to compare with.
format::MachineProfile load_stored(const std::string &named, const std::string &path) {
  std::error_code error;
  if (!named.empty() && !std::filesystem::exists(path, error))
    throw Failure{"cannot use machine profile", path, "none is stored there",
                  "smalloc calibrate --profile " + study::shell_word(path), kFailed};
  return load_profile(named.empty()                          ? "stored"
                      : named.find('/') == std::string::npos ? "./" + named
                                                             : named);
}

struct Calibration {
  MachineMeasurement measured;
  std::optional<FreeMemory> memory; // before the measurement
  double elapsed_seconds;
};

Calibration measure_with_progress(const CalibrateOptions &options) {
  const auto memory = free_memory(SystemView());
  const auto start = std::chrono::steady_clock::now();
  Progress progress("calibrating", options.output.quiet);
  MachineMeasurement measured = measure_machine(
      options.quick, [&](double done, const char *what) { progress.show(done, what); });
  progress.clear();
  return {std::move(measured), memory,
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
}

Json calibration_document(const Calibration &c) {
  const calibrate::CountedWalks &counted = c.measured.counted;
  return Json{{"schema", "smalloc.calibrate/1"},
              {"noisy", c.measured.noisy},
              {"noise_ratio", c.measured.noise_ratio},
              {"elapsed_seconds", c.elapsed_seconds},
              {"free_bytes_in_pieces", c.memory ? Json(c.memory->bytes_in_pieces) : Json()},
              {"written_to", Json()},
              {"pmu", Json{{"walk_cycles", counted.cycles ? Json(*counted.cycles) : Json()},
                           {"misses", counted.misses},
                           {"why", counted.why.empty() ? Json() : Json(counted.why)}}},
              {"profile", format::machine_document(c.measured.profile)}};
}

void warn_of_doubts(const Calibration &c) {
  if (c.measured.noisy)
    print_warning("noisy", "calibrate",
                  "repeats disagree; values without agreement stay unmeasured",
                  "smalloc calibrate again when the machine is idle");
  // Only the walk costs depend that much on what ran before.
  if (c.memory && c.memory->bytes_in_pieces >= kManyPieces &&
      c.measured.profile.hypervisor.value_or(false))
    print_note(fmt::format(
        "{} of the free memory lay in pieces smaller than a superpage: base "
        "pages come out of these first, and under a hypervisor walks take longer there; echo 1 > "
        "/proc/sys/vm/compact_memory joins some",
        readable_bytes(c.memory->bytes_in_pieces)));
}

// Adds the differences to the document. Returns how many are significant.
uint64_t add_differences(Json &document, const std::vector<calibrate::Difference> &all) {
  Json differences = Json::array();
  uint64_t significant = 0;
  for (const auto &d : all) {
    significant += d.significant;
    differences.push_back(Json{{"what", d.what},
                               {"stored", d.stored},
                               {"measured", d.now},
                               {"significant", d.significant}});
  }
  document["differences"] = differences;
  document["totals"] = Json{{"compared", all.size()}, {"significant", significant}};
  return significant;
}

std::string differences_text(const std::vector<calibrate::Difference> &all, uint64_t significant,
                             Colour colour) {
  Table table({"WHAT", "STORED", "MEASURED", ""});
  for (const auto &d : all)
    table.add_row(
        {{d.what},
         {fmt::format("{:g}", d.stored)},
         {fmt::format("{:g}", d.now)},
         {d.significant ? "differs" : "same", d.significant ? Style::kBad : Style::kGood}});
  return table.print(colour) +
         (significant ? fmt::format("\n{} of {} numbers differ: the profile no longer fits; "
                                    "smalloc calibrate writes a new one\n",
                                    significant, all.size())
                      : fmt::format("\nall {} numbers are as stored\n", all.size()));
}

int calibrate_machine(const CalibrateOptions &options) {
  const auto thresholds = parse_thresholds(options.output);
  const std::string path = options.profile.empty() ? stored_profile_path() : options.profile;
  std::optional<format::MachineProfile> stored;
  if (options.check)
    stored = load_stored(options.profile, path);
  else
    check_profile_can_be_stored(path);
  const Calibration c = measure_with_progress(options);
  const format::MachineProfile &profile = c.measured.profile;
  Json document = calibration_document(c);
  warn_of_doubts(c);
  if (!stored) {
    store_profile(profile, path);
    document["written_to"] = path;
    const int status = finish(options.output, thresholds, document,
                              [&](Colour colour) { return profile_text(profile, colour); });
    print_note(fmt::format("written to {} in {:.1f} s; smalloc machine show stored; compile with "
                           "machine={}",
                           path, c.elapsed_seconds, path));
    return status;
  }
  const auto all = calibrate::compare_profiles(*stored, profile);
  const uint64_t significant = add_differences(document, all);
  return finish(options.output, thresholds, document,
                [&](Colour colour) { return differences_text(all, significant, colour); });
}

int print_miss_cost(const CalibrateOptions &options) {
  const uint64_t available = memory_to_measure_with();
  const uint64_t base = calibrate::base_page_bytes();
  const uint64_t most =
      std::min<uint64_t>(uint64_t{256} << 20, available ? available / 4 : UINT64_MAX);
  calibrate::PointerChase source({most / base, 0, 0, 21});
  const double frequency_rate = calibrate::ticks_per_second();
  const auto trace = [&](const std::string &line) {
    if (options.verbose)
      std::fprintf(stderr, "TRACE: %s\n", line.c_str());
  };
  // Use counted walks first and the calibrator otherwise, as tlbmiss_cost.sh did with oprofile.
  trace("Beginning TLB measurement using the PMU");
  const auto counted = calibrate::count_walks(pmu::kernel_perf(), [&] {
    source.chase({base, base, std::min<uint64_t>(65536, most / base)});
  });
  if (counted.cycles) {
    trace(fmt::format("Counted {:.0f} TLB misses, {:.1f} cycles each, in two runs that agree",
                      counted.misses, *counted.cycles));
    const double hertz = frequency_rate * source.cycles_per_tick();
    trace(fmt::format("Measured CPU Speed: {:.0f} MHz", hertz / 1e6));
    std::fputs(calibrate::miss_cost_lines(*counted.cycles, hertz).c_str(), stdout);
    return std::fflush(stdout) == 0 ? kDone : kFailed;
  }
  trace("Not counted: " + counted.why);
  trace("Beginning TLB measurement using pointer chases");
  Progress progress("measuring", options.output.quiet || options.verbose);
  const auto steady = calibrate::find_steady_latency(
      [&](uint64_t bytes) -> std::optional<double> {
        progress.show(static_cast<double>(bytes) / static_cast<double>(most));
        calibrate::Chase chase{base, base, bytes / base};
        const auto spread = source.chase(chase);
        chase.dense = true;
        const auto packed = source.chase(chase);
        if (!spread || !packed || spread->cycles <= packed->cycles)
          return std::nullopt;
        return spread->cycles - packed->cycles;
      },
      most, trace);
  progress.clear();
  if (!steady)
    throw Failure{"no steady TLB miss latency", fmt::format("up to {} MiB", most >> 20),
                  "no three latencies in a row are within 2 cycles (noisy)",
                  "smalloc calibrate measures the cost as a curve", kFailed};
  const double hertz = frequency_rate * source.cycles_per_tick();
  trace(fmt::format("Measured CPU Speed: {:.0f} MHz", hertz / 1e6));
  std::fputs(calibrate::miss_cost_lines(steady->cycles, hertz).c_str(), stdout);
  return std::fflush(stdout) == 0 ? kDone : kFailed;
}

std::function<int()> declare_calibrate(CLI::App &app) {
  auto options = std::make_shared<CalibrateOptions>();
  auto *quick =
      app.add_flag("--quick", options->quick, "A few seconds: fewer repeats, a shorter walk curve");
  auto *check =
      app.add_flag("--check", options->check, "Write nothing; compare with the stored profile");
  app.add_option("--profile", options->profile,
                 "Write to (or check) this FILE instead of ~/.config/smalloc/machine.json")
      ->type_name("FILE");
  auto *cost =
      app.add_flag("--tlbmiss-cost", options->miss_cost,
                   "Print one miss cost in the four lines of libhugetlbfs' tlbmiss_cost.sh");
  cost->excludes(quick)->excludes(check)->excludes(app.get_option("--profile"));
  app.add_flag("-v,--verbose", options->verbose, "With --tlbmiss-cost: trace each working set");
  add_output_options(app, options->output);
  return [options] {
    set_quiet(options->output.quiet);
    return options->miss_cost ? print_miss_cost(*options) : calibrate_machine(*options);
  };
}

} // namespace

const Verb kCalibrateVerb = {
    "calibrate",
    "measure the TLB and what misses, faults and streams cost",
    "Measures this machine by pointer chases, with the source of every number (measured, preset, "
    "cpuid, unknown) and where they disagree, and writes a machine profile that the compiler "
    "plugin "
    "reads when it is named (machine=FILE). Needs no privileges and no PMU; says noisy rather than "
    "guess.",
    {{"smalloc calibrate", "measure, print, and write ~/.config/smalloc/machine.json"},
     {"smalloc calibrate --check --fail-if 'totals.significant > 0'",
      "exit 3 when the stored profile no longer fits this machine"}},
    declare_calibrate};

} // namespace smalloc::cli
