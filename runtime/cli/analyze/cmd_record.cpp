// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_record.cpp implements `smalloc record`. It runs a command with libsmalloc_feedback.so
// preloaded before other libraries, the trace's name in SMALLOC_CONF, and superpages off, since a
// profile is of base pages. Afterwards it prints the next command, and ends with the command's
// status or signal.
#include "runtime/cli/analyze/earlier_traces.h"
#include "runtime/cli/analyze/found_traces.h"
#include "runtime/cli/analyze/record_source.h"
#include "runtime/cli/analyze/recorded_programs.h"
#include "runtime/cli/history/history_store.h"
#include "runtime/cli/installation.h"
#include "runtime/cli/output.h"
#include "runtime/cli/process/child_process.h"
#include "runtime/cli/process/launch.h"
#include "runtime/cli/verbs.h"
#include "runtime/cli/written_file.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/trace/reader.h"
#include "runtime/trace/region_sample.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smalloc::cli {
namespace {

namespace fs = std::filesystem;

struct RecordOptions {
  std::string output, source;
  uint64_t period = 0;  // 0: the source's default
  double rate = 0;      // 0: the library's default
  uint64_t samples = 0; // 0: unlimited
  bool dry_run = false, quiet = false;
  CLI::App *app = nullptr;
};

// Throws if the program cannot be recorded; an empty trace would be worse.
void check_program(const std::string &program, const Target &target) {
  if (target.is_static || !target.preloadable || target.raises_privileges)
    throw Failure{"cannot record the command", program, target.obstacle, target.hint, kRunFailed};
}

// Returns the pattern of the trace's name. If `output` is a folder, the trace gets the usual name
// in it.
std::string trace_pattern(const std::string &output, const std::string &usual) {
  std::error_code error;
  if (output.empty())
    return usual;
  return fs::is_directory(expand_file_name(output), error) ? (fs::path(output) / usual).string()
                                                           : output;
}

// Throws before the command runs, perhaps for hours, if the folder is missing. If the folder's name
// has a %p, the process itself reports that.
void check_folder(const std::string &pattern) {
  const fs::path folder = fs::absolute(pattern).parent_path();
  if (folder.string().find('%') != std::string::npos)
    return;
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw Failure{"cannot record", pattern,
                  fs::exists(folder, error) ? "'" + folder.string() + "' is no folder"
                                            : "there is no folder " + folder.string(),
                  fs::exists(folder, error) ? "smalloc record -o OTHER-NAME"
                                            : "mkdir -p " + folder.string(),
                  kRunFailed};
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    throw Failure{"cannot record", pattern, "its folder: " + error_text(errno),
                  "smalloc record -o FILE in a folder that you may write", kRunFailed};
}

constexpr char kOtherHistory[] =
    "XDG_STATE_HOME=/FOLDER smalloc record, a folder that you may write";

// Stores with which input the command's own trace was made, so that the agent can recognise runs
// with the same input. A trace is valid without this.
void note_run(const std::string &path, pid_t child, const std::vector<std::string> &command,
              const rusage &usage, double seconds) try {
  const trace::Reader reader(path);
  const trace::Header &header = reader.header();
  database::Run run;
  run.program = header.word("build_id");
  if (run.program.empty() || header.word("pid") != std::to_string(child))
    return;
  run.path = header.word("program");
  run.host = header.word("host");
  run.pid = child;
  run.started_ns = std::strtoll(header.word("start").c_str(), nullptr, 10) * 1000000000;
  run.kind = "recorded";
  run.input = header.word("input"); // as the process saw it, also behind env, nice or a script that
                                    // executed it
  if (run.input.empty())
    run.input = input_of(command);
  const auto seconds_of = [](const timeval &t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  run.seconds = seconds;
  run.user_seconds = seconds_of(usage.ru_utime);
  run.system_seconds = seconds_of(usage.ru_stime);
  run.peak_bytes = int64_t{usage.ru_maxrss} * 1024;
  run.minor_faults = usage.ru_minflt;
  run.major_faults = usage.ru_majflt;
  open_history({}, database::Access::kReadWrite, Reports::kLeave).store_run(run);
} catch (const trace::TraceError &) {
} catch (const Failure &failure) {
  print_warning("the run is not in the history", failure.which, failure.why, kOtherHistory);
} catch (const database::DatabaseError &error) {
  print_warning("the run is not in the history", error.where, error.what(), kOtherHistory);
}

// Warns that there is no trace, with the reason as far as it shows from outside.
void warn_of_nothing(const std::string &program, const std::string &pattern, int status) {
  std::string why = "the command loaded no library of smalloc, or ended before it could write",
              hint = "smalloc doctor " + program;
  if (const int error = lack_of_room(fs::path(expand_file_name(pattern)).parent_path().string())) {
    why = "there is no room for a trace: " + error_text(error);
    hint = room_hint(error, "smalloc record -o FILE");
  } else if (WIFSIGNALED(status)) {
    const char *name = sigabbrev_np(WTERMSIG(status));
    why = fmt::format("signal {} ({}) ended it before its first buffer was written",
                      WTERMSIG(status), name ? name : "real-time");
    hint = "record it for longer, or let it end by itself";
  }
  print_warning("nothing was recorded", program, why, hint);
}

Environment recording_environment(const RecordOptions &options, const std::string &pattern,
                                  const RecordSource &source) {
  // Relative names refer to this folder, wherever the command goes.
  return environment_with(
      library_to_preload("libsmalloc_feedback.so"),
      "heap:off,trace:" + fs::absolute(pattern).string() +
          (options.rate > 0 ? fmt::format(",rate:{}", options.rate) : std::string()) +
          (options.samples > 0 ? fmt::format(",samples:{}", options.samples) : std::string()) +
          source.setting);
}

// Starts the command as a child and returns its process number. The child reports a failure itself.
pid_t start_command(const std::vector<std::string> &command, const Environment &environment,
                    const ForwardedSignals &signals, const StartReport &report) {
  const pid_t child = fork();
  if (child < 0)
    throw Failure{"cannot run the command", command.front(), error_text(errno), {}, kRunFailed};
  if (child == 0) {
    try {
      signals.give_back();
      set_environment(environment);
      become(command);
    } catch (const Failure &failure) {
      print_failure(failure);
      report.say_not_started();
      _exit(failure.status);
    }
  }
  return child;
}

// Prints what the recording has left, and the next command.
void report_traces(const FoundTraces &found, const std::string &program, const std::string &pattern,
                   int status) {
  // If each process has its own file name, a running one may belong to another smalloc record. A
  // forked process most likely belongs to this one.
  const bool by_process = pattern.find("%p") != std::string::npos;
  if (const size_t own = by_process ? found.running_children : found.running)
    print_note(fmt::format("{} process{} of the command still run{}; {} traces grow", own,
                           own == 1 ? "" : "es", own == 1 ? "s" : "", own == 1 ? "its" : "their"));
  const std::vector<std::string> &traces = found.traces;
  if (traces.empty() && (!found.running || by_process))
    warn_of_nothing(program, pattern, status);
  if (!traces.empty())
    print_note(fmt::format("{} trace{}; next: {}", traces.size(), traces.size() == 1 ? "" : "s",
                           fmt::join(next_analyses(traces), "; or: ")));
}

// Returns the command's exit status, or ends this process by the command's signal.
int end_like_command(int status) {
  if (WIFEXITED(status))
    return WEXITSTATUS(status);
  std::signal(WTERMSIG(status), SIG_DFL);
  raise(WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

int record_command(const RecordOptions &options) {
  set_quiet(options.quiet);
  std::vector<std::string> command = command_of(*options.app, "record", "record");
  Target target;
  if (const auto program = find_program(command.front())) {
    target = inspect(*program);
    check_program(*program, target);
    warn_of_closed_entries(target, *program);
  }
  const RecordSource source =
      choose_source(options.source, options.period, target.tells_accesses, pmu::kernel_probe());
  const std::string name = fs::path(command.front()).filename().string();
  const std::string pattern = trace_pattern(options.output, "smalloc." + name + ".%p.trace");
  const Environment environment = recording_environment(options, pattern, source);
  if (options.dry_run)
    return print_environment(environment, command);
  check_folder(pattern);
  if (!source.note.empty())
    print_note(source.note);
  const auto start = fs::file_time_type::clock::now() - std::chrono::seconds(1);
  const auto began_ns = static_cast<uint64_t>(now_ns());

  const auto began = std::chrono::steady_clock::now();
  // From here on signals are forwarded to the command, so that none kills this process while
  // earlier traces are moved aside.
  std::optional<ForwardedSignals> signals(std::in_place);
  std::optional<EarlierTraces> earlier(std::in_place);
  if (pattern.find("%p") == std::string::npos)
    earlier->put_aside(pattern);
  StartReport report;
  const pid_t child = start_command(command, environment, *signals, report);
  const bool started = report.started();
  rusage usage = {};
  const int status = signals->wait_for(child, usage);
  if (!started && WIFEXITED(status))
    return WEXITSTATUS(status); // the reason has been printed
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();

  const FoundTraces found = find_traces(pattern, start, began_ns);
  if (!found.traces.empty())
    earlier->remove();
  earlier.reset();
  signals.reset();
  for (const std::string &path : found.traces)
    note_run(path, child, command, usage, seconds);
  report_traces(found, command.front(), pattern, status);
  return end_like_command(status);
}

CLI::Validator from_one_to(uint64_t most, const char *what) {
  return {[most, what](const std::string &text) {
            uint64_t n = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
            return error == std::errc() && end == text.data() + text.size() && n >= 1 && n <= most
                       ? std::string()
                       : fmt::format("not {} from 1 to {}", what, most);
          },
          ""};
}

std::function<int()> declare_record(CLI::App &app) {
  auto options = std::make_shared<RecordOptions>();
  options->app = &app;
  app.add_option(
         "-o,--output", options->output,
         "The trace, or a folder for it; %p process, %h host, %r MPI rank. Processes that the "
         "command starts add their number")
      ->type_name("FILE")
      ->check(CLI::Validator(check_passed_file, ""));
  app.add_option("--rate", options->rate,
                 "Share of the 2 MiB regions whose accesses an instrumented program records; 1: "
                 "every access")
      ->type_name("SHARE")
      ->check(CLI::Validator(
          [](const std::string &text) {
            char *end = nullptr;
            const double rate = std::strtod(text.c_str(), &end);
            return end != text.c_str() && !*end && rate >= 1e-9 && rate <= 1
                       ? std::string()
                       : "not a share above 0 and up to 1";
          },
          ""));
  app.add_option("--samples", options->samples,
                 "Sample at most N regions of 2 MiB at a time (256, unless there is a --rate): the "
                 "rate begins at 1, or at --rate, and falls as the program touches more regions")
      ->type_name("N")
      ->check(from_one_to(trace::kMostSampledRegions, "a number of regions"));
  app.add_option("--source", options->source,
                 "Source of the data accesses: pmu: samples of TLB misses; instrumented: the "
                 "instrumented program; faults: page faults only; auto: instrumented if the "
                 "program is, else pmu if there is a PMU")
      ->type_name("SOURCE")
      ->check(CLI::IsMember({"auto", "pmu", "instrumented", "faults"}).description(""));
  app.add_option("--period", options->period,
                 "The PMU reports one of this many events (1009 TLB misses; 65536 operations with "
                 "IBS or SPE)")
      ->type_name("N")
      ->check(from_one_to(uint64_t{1} << 32, "a number"));
  app.add_flag("-n,--dry-run", options->dry_run,
               "Print the environment and the command, run nothing");
  app.add_flag("-q,--quiet", options->quiet, "No notes on standard error");
  app.prefix_command();
  return [options] { return record_command(*options); };
}

} // namespace

const Verb kRecordVerb = {
    "record",
    "run a program and record what it does with its memory",
    "Writes a trace of every allocation, free and reallocation, with its site and thread, "
    "and of page faults. Nothing needs to be recompiled for that. Data accesses are recorded of "
    "programs compiled with -fplugin-arg-smalloc-profile-generate, or sampled by the PMU. Keeps "
    "the command's status.",
    {{"smalloc record -- ./app input.dat",
      "writes smalloc.app.PID.trace and names the next command"},
     {"smalloc record -o app.trace -- ./app", "the same, into app.trace"}},
    declare_record};

} // namespace smalloc::cli
