// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_record.cpp decides what `smalloc record` does around a command: libsmalloc_feedback.so in front of every
// other library, the trace's name in SMALLOC_CONF, superpages off (a profile is of base pages); the
// command's own status and signal afterwards, and the next command to type.
#include "runtime/cli/diagnostics.h"
#include "runtime/cli/elf_image.h"
#include "runtime/cli/input_file.h"
#include "runtime/cli/installation.h"
#include "runtime/cli/output.h"
#include "runtime/cli/verbs.h"
#include "runtime/trace/reader.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <regex.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smalloc::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string output;
  double rate = 0; // 0: the library's own
  bool dry_run = false, quiet = false;
  CLI::App *app = nullptr;
};

// Throws for what cannot be recorded: better than an empty trace.
void check_program(const std::string &program) {
  std::vector<unsigned char> bytes;
  try {
    bytes = read_file(program, "cannot read the program");
  } catch (const Failure &) {
    return; // executable but not readable: nothing to go by
  }
  if (!looks_like_elf(bytes))
    return; // a script: its interpreter and what it starts are recorded
  const ElfImage image = parse_elf(bytes, program);
  if (image.interpreter().empty())
    throw Failure{"cannot record the command", program,
                  "it is a static executable, which loads no library", "link it without -static",
                  kRunFailed};
}

std::string feedback_library() {
  const auto path = find_library("libsmalloc_feedback.so");
  if (!path)
    throw Failure{"cannot find the library", "libsmalloc_feedback.so",
                  "it is in none of the folders beside this command",
                  "build or install smalloc again: cmake --build build", kRunFailed};
  if (path->find_first_of(" :") != std::string::npos)
    throw Failure{"cannot preload the library", *path,
                  "LD_PRELOAD separates names by spaces and colons",
                  "install smalloc under a path without them", kRunFailed};
  return *path;
}

std::string joined(const std::string &first, const char *second, char separator) {
  return second && *second ? first + separator + second : first;
}

// The traces that a pattern may have made: %p is any number, and processes that came second add theirs
// (NAME.PID). Written since `since` only.
std::vector<std::string> traces_of(const std::string &pattern, fs::file_time_type since) {
  std::string text; // the file name as a regular expression
  const fs::path whole = fs::absolute(expand_file_name(pattern, "\x01"));
  for (char c : whole.filename().string())
    if (c == '\x01')
      text += "[0-9]+";
    else
      text += std::strchr(".[]{}()\\*+?|^$", c) ? std::string{'\\', c} : std::string(1, c);
  std::vector<std::string> found;
  regex_t name;
  if (regcomp(&name, ("^" + text + "(\\.[0-9]+)*$").c_str(), REG_EXTENDED | REG_NOSUB) != 0)
    return found;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(whole.parent_path(), error)) {
    const std::string other = entry.path().filename().string();
    if (regexec(&name, other.c_str(), 0, nullptr, 0) == 0 && entry.last_write_time(error) >= since)
      found.push_back(fs::path(pattern).replace_filename(other).string());
  }
  regfree(&name);
  std::sort(found.begin(), found.end());
  return found;
}

// Nothing but a header: of a process that became another program at once.
bool is_empty_trace(const std::string &path) {
  try {
    return trace::Reader(path).chunks() <= 1;
  } catch (const trace::TraceError &) {
    return false;
  }
}

int wait_for(pid_t child) {
  // The terminal sends its signals to the command as well; the command decides.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGQUIT, SIG_IGN);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

int record_command(const Options &options) {
  set_quiet(options.quiet);
  std::vector<std::string> command = options.app->remaining();
  if (!command.empty() && command.front().size() > 1 && command.front()[0] == '-')
    throw Failure{"cannot understand the command line", "smalloc record",
                  "unknown option " + command.front(), "smalloc record --help", kRunFailed};
  const std::vector<std::string> behind = command_behind_dashes();
  command.insert(command.end(), behind.begin() + (command.empty() && !behind.empty() ? 1 : 0),
                 behind.end());
  if (command.empty() || command.front().empty())
    throw Failure{"cannot understand the command line", "smalloc record", "no command to record",
                  "smalloc record -- ./app", kRunFailed};
  if (const auto program = find_program(command.front()))
    check_program(*program);

  const std::string name = fs::path(command.front()).filename().string();
  const std::string pattern =
      options.output.empty() ? "smalloc." + name + ".%p.trace" : options.output;
  const bool by_process = pattern.find("%p") != std::string::npos;
  // Relative names are meant from here, wherever the command goes.
  const std::string absolute = fs::absolute(pattern).string();
  const std::string preload = joined(feedback_library(), std::getenv("LD_PRELOAD"), ':');
  const char *users = std::getenv("SMALLOC_CONF");
  const std::string conf =
      (users && *users ? std::string(users) + "," : std::string()) + "heap:off,trace:" + absolute +
      (options.rate > 0 ? fmt::format(",rate:{}", options.rate) : std::string());
  if (options.dry_run) {
    std::string line = fmt::format("LD_PRELOAD={} SMALLOC_CONF={}", preload, conf);
    for (const std::string &argument : command)
      line += " " + argument;
    std::puts(line.c_str());
    return std::fflush(stdout) == 0 ? kDone : kRunFailed;
  }
  if (!by_process)
    for (const std::string &old : traces_of(pattern, fs::file_time_type::min()))
      fs::remove(old);
  const auto start = fs::file_time_type::clock::now() - std::chrono::seconds(1);

  const pid_t child = fork();
  if (child < 0)
    throw Failure{"cannot run the command", command.front(), error_text(errno), {}, kRunFailed};
  if (child == 0) {
    setenv("LD_PRELOAD", preload.c_str(), 1);
    setenv("SMALLOC_CONF", conf.c_str(), 1);
    std::vector<char *> arguments;
    for (std::string &argument : command)
      arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    const int error = errno;
    print_failure({"cannot run the command", command.front(), error_text(error),
                   error == ENOENT ? "check the name, or give a path such as ./" + command.front()
                                   : "ls -l " + command.front(),
                   kFailed});
    _exit(error == ENOENT ? kNotFound : kNotExecutable);
  }
  const int status = wait_for(child);

  std::vector<std::string> traces;
  for (const std::string &path : traces_of(pattern, start)) {
    if (is_empty_trace(path))
      fs::remove(path);
    else
      traces.push_back(path);
  }
  if (traces.empty())
    print_warning("nothing was recorded", command.front(),
                  "the command loaded no library of ours, or ended before it could write",
                  "smalloc doctor " + command.front());
  std::string list;
  for (size_t i = 0; i < traces.size() && i < 8; i++)
    list += " " + traces[i];
  if (!traces.empty())
    print_note(fmt::format("{} trace{}; next: smalloc analyze{}{}", traces.size(),
                           traces.size() == 1 ? "" : "s", list, traces.size() > 8 ? " ..." : ""));
  if (WIFSIGNALED(status)) { // die as the command did
    std::signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
  }
  return WEXITSTATUS(status);
}

std::function<int()> declare(CLI::App &app) {
  auto options = std::make_shared<Options>();
  options->app = &app;
  app.add_option(
         "-o,--output", options->output,
         "The trace; %p process, %h host, %r MPI rank. Processes that the command starts add "
         "their number")
      ->type_name("FILE")
      ->check(CLI::Validator(
          [](const std::string &text) {
            return text.find(',') == std::string::npos
                       ? std::string()
                       : "a file name with a comma cannot be passed on";
          },
          ""));
  app.add_option("--rate", options->rate,
                 "Share of the 2 MiB regions whose accesses are recorded, if the program tells "
                 "them; 1: every access")
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
    "programs compiled with -fplugin-arg-smalloc-profile-generate. Keeps "
    "the command's status.",
    {{"smalloc record -- ./app input.dat",
      "writes smalloc.app.PID.trace and names the next command"},
     {"smalloc record -o app.trace -- ./app", "the same, into app.trace"}},
    declare};

} // namespace smalloc::cli
