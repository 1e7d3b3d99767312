// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_study.cpp implements `smalloc study`. It runs the same binary under several page sizes. The
// runs are interleaved and their order is rotated, so that a machine that becomes slower favours no
// configuration.
//
// All configurations except `program` use libsmalloc with everything on one page size, so that they
// differ in pages and not in allocators.
#include "runtime/cli/input_file.h"
#include "runtime/cli/installation.h"
#include "runtime/cli/output.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/study/study_prediction.h"
#include "runtime/cli/study/study_report.h"
#include "runtime/cli/study/study_setup.h"
#include "runtime/cli/verbs.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/pmu/perf_source.h"
#include "runtime/study/command_line.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace smalloc::cli {
namespace {

struct StudyOptions {
  OutputOptions output;
  std::vector<std::string> configurations, extra;
  std::string suite, csv, plot, metric = "cpu", trace, machine;
  unsigned repeats = 5;
  double interval = 1;
  bool show_output = false, ignore_failure = false, predict = false, verify = false, stream = false;
  unsigned stream_mib = 1024;
  CLI::App *app = nullptr;
};

std::vector<study::SuiteCommand> commands_of(const StudyOptions &options) {
  std::vector<std::string> command = options.app->remaining();
  if (!command.empty() && command.front().size() > 1 && command.front()[0] == '-')
    throw Failure{"cannot understand the command line", "smalloc study",
                  "unknown option " + command.front(), "smalloc study --help", kUsage};
  const auto &behind = command_behind_dashes();
  const auto from = behind.begin() + (command.empty() && !behind.empty() ? 1 : 0);
  command.insert(command.end(), from, behind.end());
  if (options.stream) {
    if (!options.suite.empty() || !command.empty())
      throw Failure{"cannot understand the command line", "smalloc study",
                    "--stream is the command", "smalloc study --stream --predict --verify", kUsage};
    return {{"stream", {own_program(), "stream", "--mib", std::to_string(options.stream_mib)}, 0}};
  }
  if (options.suite.empty() == command.empty())
    throw Failure{"cannot understand the command line", "smalloc study",
                  command.empty() ? "no command to run"
                                  : "--suite and a command exclude each other",
                  "smalloc study -- ./app", kUsage};
  if (!command.empty())
    return {{study::short_name(command), command, 0}};
  const char *const form = "one command a line: NAME: ./app ARGUMENT...";
  const auto bytes = read_file(options.suite, "cannot read the suite", kTextInput, form);
  try {
    auto commands =
        study::parse_suite({reinterpret_cast<const char *>(bytes.data()), bytes.size()});
    if (commands.empty())
      throw study::CommandLineError("it has no command");
    for (const study::SuiteCommand &wanted : commands) // check all before any of them runs for long
      if (!find_program(wanted.words[0]))
        throw study::CommandLineError(
            fmt::format("line {}: no program {}", wanted.line, printable(wanted.words[0])));
    return commands;
  } catch (const study::CommandLineError &error) {
    throw Failure{"cannot use the suite", options.suite, error.what(), form, kFailed};
  }
}

void check_run(const StudyOptions &options, const std::string &configuration,
               const study::SuiteCommand &command, const study::RunResult &run) {
  if (run.error)
    throw Failure{"cannot run the command", command.words[0], error_text(run.error),
                  command.words[0].find('/') == std::string::npos
                      ? "check the name, or give a path such as ./" + command.words[0]
                      : "ls -l " + command.words[0],
                  kFailed};
  if (run.status != 0 && !options.ignore_failure)
    throw Failure{"the command failed", fmt::format("{}, pages {}", command.name, configuration),
                  run.status > 128 ? fmt::format("signal {}", run.status - 128)
                                   : fmt::format("exit status {}", run.status),
                  "smalloc study --show-output shows what it says; --ignore-failure goes on",
                  kFailed};
}

// Runs all configurations of all commands. `profile` is required if events are counted.
Study run_all(const StudyOptions &options, const std::vector<StudySetup> &setups,
              const std::vector<study::SuiteCommand> &commands, const std::string &no_events,
              const std::optional<format::MachineProfile> &profile) {
  Study study;
  study.metric = options.metric == "user"   ? StudyMetric::kUser
                 : options.metric == "wall" ? StudyMetric::kWall
                                            : StudyMetric::kCpu;
  for (const StudySetup &setup : setups)
    study.configurations.push_back(setup.name);
  study.no_events = no_events;
  if (no_events.empty()) // for the CPI stack: a walk in 256 MiB of base pages
    study.costs.walk_cycles = walk_cycles(*profile, 65536);
  Progress progress("studying", options.output.quiet || options.show_output);
  const double all = static_cast<double>(commands.size() * setups.size() * options.repeats);
  double done = 0;
  for (const study::SuiteCommand &command : commands) {
    StudiedCommand studied{command.name, command.words, {}};
    const std::string library = study_library(command.words[0]);
    for (const StudySetup &setup : setups)
      studied.results.push_back({setup.name, {}});
    for (unsigned repeat = 0; repeat < options.repeats; repeat++)
      for (size_t k = 0; k < setups.size(); k++) {
        const size_t i = (k + repeat) % setups.size();
        progress.show(done++ / all, command.name + ", " + setups[i].name);
        study::RunPlan plan = study_plan(setups[i], command.words, library);
        plan.show_output = options.show_output;
        plan.sample_seconds = options.interval;
        plan.perf = study.no_events.empty() ? &pmu::kernel_perf() : nullptr;
        study::RunResult run = study::run_once(plan);
        check_run(options, setups[i].name, command, run);
        studied.results[i].runs.push_back(std::move(run));
      }
    study.commands.push_back(std::move(studied));
  }
  return study;
}

int run_study(const StudyOptions &options) {
  const auto thresholds = parse_thresholds(options.output);
  const auto commands = commands_of(options);
  std::vector<std::string> skipped, wanted = options.configurations;
  if (options.predict && wanted.empty())
    wanted =
        options.verify ? std::vector<std::string>{"base", "thp"} : std::vector<std::string>{"base"};
  const auto setups = study_setups(wanted, options.extra, skipped);
  // Before the runs: a prediction that is impossible should fail without their cost.
  const std::string no_events = pmu::obstacle(pmu::kernel_perf());
  std::optional<format::MachineProfile> profile;
  if (options.predict || no_events.empty())
    profile = profile_for(options.machine, options.output.quiet);
  std::optional<StudyPredictor> predictor;
  if (options.predict) {
    PredictionInput input{options.trace, *profile, commands.front().words[0], std::nullopt,
                          no_events};
    if (options.stream)
      input.stream = calibrate::StreamPlan{uint64_t{options.stream_mib} << 20};
    predictor.emplace(input);
  }
  Study outline;
  for (const StudySetup &setup : setups)
    outline.configurations.push_back(setup.name);
  nlohmann::ordered_json keys = study_document(outline);
  if (predictor)
    predictor->add_to(keys, outline);
  for (const FailIf &threshold : thresholds)
    check_key(threshold, keys);
  Study study = run_all(options, setups, commands, no_events, profile);
  study.skipped = skipped;
  nlohmann::ordered_json document = study_document(study);
  if (predictor)
    predictor->add_to(document, study);
  if (!options.csv.empty())
    write_text(options.csv, study_csv(study), "--csv");
  if (!options.plot.empty())
    write_text(options.plot, study_svg(document), "--plot");
  const auto text = [&](Colour colour) {
    return study_table(document, colour) + (predictor ? prediction_text(document) : std::string());
  };
  try { // print the results even if a key below a list is missing: they took long to obtain
    for (const FailIf &threshold : thresholds) {
      std::string found;
      crosses(threshold, document, found);
    }
  } catch (const Failure &) {
    finish(options.output, {}, document, text);
    throw;
  }
  return finish(options.output, thresholds, document, text);
}

std::function<int()> declare_study(CLI::App &app) {
  auto options = std::make_shared<StudyOptions>();
  options->app = &app;
  app.add_option("-r,--repeats", options->repeats, "Runs of each configuration (default 5)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000).description(""));
  app.add_option("--pages", options->configurations,
                 "Of program, base, thp, auto, static, text, stack, all, hugetlb, 64k, 1g; the "
                 "others are compared with the first (default: base and all that this system has)")
      ->type_name("NAME,...")
      ->delimiter(',');
  app.add_option("--config", options->extra,
                 "A configuration of your own: NAME=SMALLOC_CONF (repeatable)")
      ->type_name("NAME=KEY:VALUE,...")
      ->allow_extra_args(false);
  app.add_option("--suite", options->suite, "Commands from FILE, one a line: NAME: COMMAND")
      ->type_name("FILE");
  app.add_option("--metric", options->metric, "cpu (user and system, default), user or wall")
      ->type_name("TIME")
      ->check(CLI::IsMember({"cpu", "user", "wall"}).description(""));
  app.add_option("--interval", options->interval, "Seconds between footprint samples (default 1)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.01, 3600.0).description(""));
  app.add_option("--csv", options->csv, "Also write every run to FILE")->type_name("FILE");
  app.add_option("--plot", options->plot, "Also write a picture (SVG) to FILE")->type_name("FILE");
  auto *predict = app.add_flag("--predict", options->predict,
                               "Upper bound of the gain: TLB misses x cost / cycles");
  app.add_flag("--verify", options->verify, "With --predict: run it and compare")->needs(predict);
  app.add_option("--trace", options->trace,
                 "With --predict and no PMU: misses from this trace (smalloc record)")
      ->type_name("FILE")
      ->needs(predict);
  app.add_option("--machine", options->machine,
                 "Preset, stored or file that costs are from (default: stored, else "
                 "measured briefly)")
      ->type_name("NAME|FILE");
  app.add_flag("--stream", options->stream,
               "Use smalloc stream as the command, to check the method on known loops");
  app.add_option("--stream-mib", options->stream_mib,
                 "With --stream: MiB of its arrays (default 1024)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 24).description(""))
      ->needs("--stream");
  app.add_flag("--show-output", options->show_output, "Do not discard what the command prints");
  app.add_flag("--ignore-failure", options->ignore_failure,
               "Go on when the command exits with another status than 0");
  add_output_options(app, options->output);
  app.prefix_command();
  return [options] { return run_study(*options); };
}

} // namespace

const Verb kStudyVerb = {
    "study",
    "run a program under several page sizes and compare",
    "Runs COMMAND several times under each page size, interleaved, and prints medians, spread, "
    "page faults and the footprint by segment and page size. A difference that the spread explains "
    "is called noise, with the repeats that would settle it. --predict bounds the gain without "
    "changing pages.",
    {{"smalloc study -- ./app input.dat", "base pages against all that this system has"},
     {"smalloc study --stream --predict --verify",
      "predicted against measured, on the built-in STREAM"}},
    declare_study};

} // namespace smalloc::cli
