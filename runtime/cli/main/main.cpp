// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// main.cpp parses the command line, calls the verb, and prints a failure with its exit status.
#include "runtime/cli/main/completions.h"
#include "runtime/cli/main/help.h"
#include "runtime/cli/main/version.h"
#include "runtime/cli/output.h"
#include "runtime/cli/verbs.h"
#include "runtime/errors/diagnostics.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace smalloc::cli {
namespace {

/// Opens /dev/null for each standard stream that came closed. Otherwise a file that is opened later
/// would get the stream's number and be taken for it, here and in commands that are started. The
/// descriptor fails like a closed one, and exec closes it.
void keep_closed_streams_closed() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
      (void)!open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

/// Makes a limit of file sizes an error of write(), like a full disk. A handler is used since exec
/// resets it: the signal ends a command, or the command ignores it, as without smalloc.
void take_file_limit_as_error() {
  struct sigaction action = {};
  if (sigaction(SIGXFSZ, nullptr, &action) != 0 || action.sa_handler != SIG_DFL)
    return;
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  sigaction(SIGXFSZ, &action, nullptr);
}

bool runs_a_command(const std::string &verb) {
  return verb == kRunVerb.name || verb == kRecordVerb.name || verb == kApplyVerb.name ||
         verb == kTryVerb.name;
}

// Returns the status of a failure. Verbs that run a command use that of env(1), since 1 and 2
// belong to the command.
int own_status(int argc, char **argv, int status) {
  const std::string verb = argc > 1 ? argv[1] : "", part = argc > 2 ? argv[2] : "";
  const bool runs =
      runs_a_command(verb) || (verb == kNumaVerb.name && (part == "record" || part == "replay"));
  return runs ? int{kRunFailed} : status;
}

void check_verb(const std::string &name) {
  std::string names;
  for (const Verb *verb : all_verbs()) {
    if (name == verb->name)
      return;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", verb->name);
  }
  throw Failure{"unknown verb", name, "the verbs are " + names, "smalloc --help", kUsage};
}

// Returns the failure for a verb with parts (smalloc db list) without a part, with the names of the
// parts, which CLI11 does not print.
std::optional<Failure> missing_part(const CLI::App &app) {
  for (const CLI::App *verb : app.get_subcommands()) {
    const auto parts = verb->get_subcommands({});
    if (parts.empty() || !verb->get_subcommands().empty())
      continue;
    const std::string name = "smalloc " + verb->get_name();
    std::string names;
    for (const CLI::App *part : parts)
      names += (names.empty() ? "" : ", ") + part->get_name();
    const auto words = verb->remaining();
    return Failure{words.empty() ? "cannot understand the command line" : "unknown part of " + name,
                   words.empty() ? name : words.front(),
                   words.empty() ? "it takes one of " + names : "they are " + names,
                   name + " --help", kUsage};
  }
  return std::nullopt;
}

// Returns the failure for a command line that CLI11 rejects, with the name of the innermost parsed
// verb.
Failure usage_failure(const CLI::App &app, const std::string &verb, const CLI::ParseError &error) {
  // An option in the place of the verb is an option of the command itself.
  std::string name = verb.empty() || verb[0] == '-' ? "smalloc" : "smalloc " + verb;
  const CLI::App *innermost = &app;
  for (const CLI::App *sub : app.get_subcommands()) {
    innermost = sub;
    for (const CLI::App *part : sub->get_subcommands()) {
      innermost = part;
      name += " " + part->get_name();
    }
  }
  std::string why = error.what();
  // CLI11 reports missing arguments before unknown ones, so report the unknown ones.
  if (dynamic_cast<const CLI::RequiredError *>(&error))
    if (const auto words = innermost->remaining(); !words.empty())
      why = CLI::ExtrasError(words).what();
  for (char &c : why)
    if (c == '\n')
      c = ' ';
  return {"cannot understand the command line", name, why, name + " --help", kUsage};
}

// Takes the words after "--", which belong to the command that is run; CLI11 would search for verbs
// among them. Returns the number of arguments before them.
int take_command_to_run(int argc, char **argv) {
  const std::string verb = argv[1];
  if (runs_a_command(verb) || verb == kStudyVerb.name || verb == kNumaVerb.name)
    for (int i = 2; i < argc; i++)
      if (std::strcmp(argv[i], "--") == 0) {
        set_command_to_run({argv + i, argv + argc});
        return i;
      }
  return argc;
}

int dispatch(int argc, char **argv) {
  if (argc < 2) {
    std::fputs(short_help().c_str(), stderr);
    return kUsage;
  }
  const std::string first = argv[1];
  if (first.empty() || first[0] != '-')
    check_verb(first);

  CLI::App app("", "smalloc");
  app.set_version_flag("--version", version_text());
  app.require_subcommand(0, 1);
  std::map<std::string, std::function<int()>> actions;
  for (const Verb *verb : all_verbs())
    actions[verb->name] = verb->declare(*app.add_subcommand(verb->name, verb->description));
  std::string page;
  CLI::Option *man =
      app.add_option("--man", page, "Print the man page of smalloc, or of a verb (--man=VERB)")
          ->expected(0, 1)
          ->group("");
  std::string shell;
  app.add_option("--completion", shell, "Print the completion script of a shell")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->group("");
  install_help(app);
  try {
    app.parse(take_command_to_run(argc, argv), argv);
  } catch (const CLI::Success &success) { // --help, --version
    std::ostringstream text;
    app.exit(success, text, text);
    write_text("", text.str());
    return kDone;
  } catch (const CLI::ParseError &error) {
    const auto part = missing_part(app);
    throw part ? *part : usage_failure(app, first, error);
  }
  if (man->count() != 0) {
    const std::string text = man_page(app, page);
    if (text.empty())
      throw Failure{"cannot print the man page", page, "no such verb", "smalloc --help", kUsage};
    write_text("", text);
    return kDone;
  }
  if (!shell.empty()) {
    write_text("", completion_script(app, shell));
    return kDone;
  }
  const auto parsed = app.get_subcommands();
  if (parsed.empty()) {
    std::fputs(short_help().c_str(), stderr);
    return kUsage;
  }
  return actions[parsed.front()->get_name()]();
}

} // namespace
} // namespace smalloc::cli

int main(int argc, char **argv) {
  using namespace smalloc::cli;
  const std::string verb = argc > 1 ? argv[1] : "";
  keep_closed_streams_closed();
  take_file_limit_as_error();
  try {
    return dispatch(argc, argv);
  } catch (const Failure &failure) {
    print_failure(failure);
    // A command that could not be started keeps its status.
    return failure.status == kNotFound || failure.status == kNotExecutable
               ? failure.status
               : own_status(argc, argv, failure.status);
  } catch (const std::bad_alloc &) {
    print_failure({"out of memory", verb,
                   "the contents of the file need more memory than this process may allocate",
                   "ulimit -v unlimited, then the same command again", kFailed});
  } catch (const std::exception &error) {
    print_failure({"unexpected failure", verb, error.what(), {}, kFailed});
  }
  return own_status(argc, argv, kFailed);
}
