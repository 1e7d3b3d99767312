// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_stats.cpp implements `smalloc stats PID`. It prints once, or every few seconds until the
// process has ended; that end is no failure.
#include "runtime/cli/output.h"
#include "runtime/cli/process/live_report.h"
#include "runtime/cli/verbs.h"
#include "runtime/errors/diagnostics.h"
#include "smalloc/base/clock.h"

#include <ctime>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace smalloc::cli {
namespace {

struct StatsOptions {
  OutputOptions output;
  int pid = 0;
  double watch_seconds = 0; // 0: once
};

int look_once(const StatsOptions &options, const std::vector<FailIf> &thresholds, bool clear) {
  const LiveView view = look_into(options.pid);
  const auto document =
      live_document(view, options.pid, program_name(options.pid), wall_clock_ns());
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error).string();
  if (clear)
    std::fputs("\x1b[H\x1b[2J", stdout);
  return finish(options.output, thresholds, document,
                [&](Colour colour) { return live_text(document, colour, folder); });
}

int run_stats(const StatsOptions &options) {
  const auto thresholds = parse_thresholds(options.output);
  if (options.pid <= 0)
    throw Failure{"cannot understand the command line", "smalloc stats",
                  "PID is the number of a process", "smalloc stats $(pgrep -n app)", kUsage};
  const bool clear = options.watch_seconds > 0 && options.output.file.empty() &&
                     !options.output.json && isatty(STDOUT_FILENO);
  int status = look_once(options, thresholds, clear);
  while (options.watch_seconds > 0) {
    timespec pause;
    pause.tv_sec = static_cast<time_t>(options.watch_seconds);
    pause.tv_nsec =
        static_cast<long>((options.watch_seconds - static_cast<double>(pause.tv_sec)) * 1e9);
    nanosleep(&pause, nullptr);
    if (has_ended(options.pid))
      break;
    if (!clear && !options.output.json && options.output.file.empty())
      std::fputs("\n", stdout);
    try {
      status = std::max(status, look_once(options, thresholds, clear));
    } catch (const Failure &) {
      if (!has_ended(options.pid))
        throw;
      break;
    }
  }
  return status;
}

std::function<int()> declare_stats(CLI::App &app) {
  auto options = std::make_shared<StatsOptions>();
  app.add_option("PID", options->pid, "Process number of a program that runs with libsmalloc")
      ->required()
      ->type_name("");
  app.add_option("--watch", options->watch_seconds,
                 "Look again every SECONDS (2 if not given) until the process ends")
      ->type_name("[SECONDS]")
      ->expected(0, 1)
      ->default_str("")
      ->check(CLI::Range(0.05, 86400.0).description(""));
  add_output_options(app, options->output);
  return [options, &app] {
    const CLI::Option *watch = app.get_option("--watch");
    if (watch->count() && (watch->results().empty() || watch->results().front().empty()))
      options->watch_seconds = 2;
    return run_stats(*options);
  };
}

} // namespace

const Verb kStatsVerb = {
    "stats",
    "live statistics of a running process: coverage by heap, bytes by site",
    "Reads the statistics page of your process without stopping or slowing it. Coverage comes from "
    "the kernel; all other numbers are libsmalloc's own counts.",
    {{"smalloc stats $(pgrep -n app)", "heaps, superpages and sites of app, now"},
     {"smalloc stats 4711 --watch 5 --fail-if 'coverage < 0.9'",
      "every 5 seconds until it ends; exit 3 when too little was on superpages at some time"}},
    declare_stats};

} // namespace smalloc::cli
