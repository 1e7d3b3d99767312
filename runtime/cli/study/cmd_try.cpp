// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_try.cpp implements `smalloc try`. It runs a program in pairs, once as it is and once as
// `smalloc run` starts it, and reports in ten lines whether it gains, and what to type next.
//
//  - The order within a pair alternates, so that neither side always runs on the warmer machine.
//  - All runs are alike: standard output is discarded, standard error is kept for a failed run.
//  - A failed run ends the trial with the program's own status.
#include "runtime/cli/installation.h"
#include "runtime/cli/output.h"
#include "runtime/cli/process/launch.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/study/try_report.h"
#include "runtime/cli/system_view.h"
#include "runtime/cli/verbs.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/study/kept_input.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

namespace smalloc::cli {
namespace {

struct TryOptions {
  OutputOptions output;
  unsigned rounds = 3;
  bool quick = false, show_output = false;
  CLI::App *app = nullptr;
};

// Refuses programs that libsmalloc cannot reach: six runs of them would be alike.
void refuse_what_cannot_gain(const std::string &program, const Target &target) {
  if (!target.obstacle.empty())
    throw Failure{"cannot try the program", program, target.obstacle, target.hint, kRunFailed};
  const std::string thp = thp_mode(SystemView());
  if (thp == "never" || thp == "absent")
    throw Failure{"cannot try the program", "transparent huge pages",
                  thp == "never" ? "they are switched off (never)" : "this kernel has none",
                  thp == "never" ? "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"
                                 : "smalloc doctor",
                  kRunFailed};
}

void show_file(std::FILE *file) {
  std::rewind(file);
  char data[4096];
  for (size_t got; (got = std::fread(data, 1, sizeof data, file)) > 0;)
    std::fwrite(data, 1, got, stderr);
}

class Trial {
public:
  Trial(const TryOptions &options, std::vector<std::string> command)
      : options_(options), command_(std::move(command)), input_(STDIN_FILENO, [] {
          print_note("reads standard input to its end before the first run; </dev/null gives none");
        }) {
    // A program that is linked with libsmalloc runs without it, too.
    without_["SMALLOC_CONF"] = joined(environment("SMALLOC_CONF"), "heap:off", ',');
    const Environment run = environment_with(library_to_preload("libsmalloc.so"), "");
    with_["LD_PRELOAD"] = run.preload;
    if (!run.tunables.empty())
      with_["GLIBC_TUNABLES"] = run.tunables;
  }

  // Runs all pairs. Returns the status of the run that failed; 0: none did.
  int run(TryRuns &runs) {
    const unsigned pairs = options_.quick ? 1 : options_.rounds;
    Progress progress("trying", options_.output.quiet || options_.show_output);
    for (unsigned i = 0; i < 2 * pairs; i++) {
      const bool with = i % 4 == 1 || i % 4 == 2;
      const char *const way = with ? "with smalloc" : "without smalloc";
      progress.show(i / (2.0 * pairs), way);
      study::RunResult result = run_once(with);
      if (result.error)
        throw cannot_start(command_[0], result.error);
      if (result.status != 0) {
        progress.clear();
        show_file(errors_.get());
        print_failure({"the command failed",
                       fmt::format("{}, run {} of {}, {}", command_[0], i + 1, 2 * pairs, way),
                       result.status > 128 ? fmt::format("signal {}", result.status - 128)
                                           : fmt::format("exit status {}", result.status),
                       with ? "SMALLOC_CONF=stats:exit smalloc run -- shows the same run; it has "
                              "passed without smalloc"
                            : "the program fails without smalloc, too; --show-output shows all",
                       result.status});
        return result.status;
      }
      (with ? runs.with : runs.without).push_back(std::move(result));
    }
    return 0;
  }

private:
  struct CloseFile {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };

  study::RunResult run_once(bool with) {
    errors_.reset(std::tmpfile());
    if (!errors_)
      throw Failure{"cannot keep the program's messages", P_tmpdir, error_text(errno),
                    "make room there", kRunFailed};
    study::RunPlan plan;
    plan.command = command_;
    plan.environment = with ? with_ : without_;
    plan.show_output = options_.show_output;
    plan.input = input_.rewound();
    plan.errors = fileno(errors_.get());
    return study::run_once(plan);
  }

  const TryOptions &options_;
  std::vector<std::string> command_;
  study::KeptInput input_;
  std::map<std::string, std::string> without_, with_;
  std::unique_ptr<std::FILE, CloseFile> errors_;
};

int run_trial(const TryOptions &options) {
  set_quiet(options.output.quiet);
  const auto thresholds = parse_thresholds(options.output);
  const std::vector<std::string> command = command_of(*options.app, "try", "try");
  const auto program = find_program(command[0]);
  if (!program)
    throw cannot_start(command[0], access(command[0].c_str(), F_OK) == 0 ? EACCES : ENOENT);
  const Target target = inspect(*program);
  refuse_what_cannot_gain(*program, target);
  TryFacts facts;
  facts.has_sites = target.has_sites;
  const SystemView system;
  for (const HugetlbPool &pool : hugetlb_pools(system))
    facts.system_has_1g |= pool.page_bytes == uint64_t{1} << 30;
  facts.system_has_64k = system.exists("/sys/kernel/mm/transparent_hugepage/hugepages-64kB");
  const std::string compile = compile_hint("...");
  for (const FailIf &threshold : thresholds) // before the runs
    check_key(threshold, try_document(facts, command, compile));

  TryRuns runs;
  std::optional<Trial> trial;
  try {
    trial.emplace(options, command);
  } catch (const std::system_error &error) {
    throw Failure{"cannot keep standard input", P_tmpdir, error_text(error.code().value()),
                  "smalloc try -- ./app </dev/null, or a file", kRunFailed};
  }
  if (const int status = trial->run(runs))
    return status;
  add_runs(runs, facts);
  const auto document = try_document(facts, command, compile);
  return finish(options.output, thresholds, document,
                [&](Colour colour) { return try_text(document, colour); });
}

std::function<int()> declare_try(CLI::App &app) {
  auto options = std::make_shared<TryOptions>();
  options->app = &app;
  auto *rounds = app.add_option("-r,--rounds", options->rounds,
                                "Pairs of runs (default 3, the fewest that show a difference)")
                     ->type_name("N")
                     ->check(CLI::Range(1, 1000).description(""));
  app.add_flag("--quick", options->quick, "One pair of runs: too few to claim a difference")
      ->excludes(rounds);
  app.add_flag("--show-output", options->show_output, "Do not discard what the command prints");
  add_output_options(app, options->output);
  app.prefix_command();
  return [options] { return run_trial(*options); };
}

} // namespace

const Verb kTryVerb = {
    "try",
    "does a program gain from superpages: ten lines, nothing to recompile",
    "Runs COMMAND in pairs, without and with smalloc, and prints whether CPU time, page faults and "
    "peak memory differ, which other page sizes are worth a try, and what to type next. A file on "
    "standard input is given to each run; a pipe is read to its end first; a terminal gives none. "
    "Standard output is discarded. The exit status is that of the command's first run that fails.",
    {{"smalloc try -- ./app input.dat", "three pairs of runs: about six times the program's time"},
     {"smalloc try --quick -- ./app <input.dat",
      "one pair of runs: too few to claim a difference"}},
    declare_try};

} // namespace smalloc::cli
