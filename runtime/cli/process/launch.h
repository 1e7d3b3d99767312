// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// launch.h decides how `smalloc run`, `record` and `apply` find the command that they are to start, what can be
// preloaded into it, and what its environment becomes. The user's own LD_PRELOAD and SMALLOC_CONF stay: ours comes
// first among libraries, and last among settings.
#pragma once

#include "runtime/errors/diagnostics.h"

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace smalloc::cli {

// The command behind the options of `verb` and "--". doing: "run", for the error when there is none.
std::vector<std::string> command_of(const CLI::App &app, const std::string &verb,
                                    const std::string &doing);

// What was found out about a command before it is started.
struct Target {
  bool has_sites = false;
  bool tells_accesses = false; // compiled with profile-generate
  bool needs_preload = false;  // has sites, and no library of ours is linked
  bool preloadable = true;
  bool is_static = false;
  bool raises_privileges = false; // the loader ignores LD_PRELOAD for it
  std::string obstacle, hint;     // why superpages will not reach it
  // Why libsmalloc serves its requests, but none as the compiler has decided, and the cure; empty: it can.
  std::string closed_entries, closed_cure;
  std::string build_id; // of the program, or of a script's interpreter; empty: none
};

// Reads the program, or the interpreter of a script, which is what will run.
Target inspect(const std::string &path);

// One line where the program's rewritten calls cannot be served.
void warn_of_closed_entries(const Target &target, const std::string &program);

// What LD_PRELOAD calls a library that lies beside this command: its path; with musl on this machine a name for it that only glibc's loader
// understands. Throws when it is not there, or cannot be named in LD_PRELOAD.
std::string library_to_preload(const std::string &name);

// For a program whose pages migrate and that tells its accesses: what it tells them to must be there when it is loaded, behind the
// allocator.
std::string with_listener(const std::string &allocator);

// Both, with the separator between them where both are there.
std::string joined(const std::string &first, const std::string &second, char separator);
// An environment variable; empty when it is not set.
std::string environment(const char *name);

struct Environment {
  std::string preload, conf;
  std::string tunables; // of glibc; empty: as they are
};
// In front of the user's libraries, behind the user's settings.
Environment environment_with(const std::string &library, const std::string &settings);
// For --dry-run: the environment and the command on standard output. Returns the exit status.
int print_environment(const Environment &environment, const std::vector<std::string> &command);
void set_environment(const Environment &environment);

// Why execvp did not start a command, with the status that env(1) would have.
Failure cannot_start(const std::string &command, int error);
[[noreturn]] void become(std::vector<std::string> command);

// Checks for CLI11: empty when good, else what is wrong.
std::string check_passed_file(const std::string &text);
std::string check_conf(const std::string &text);
std::string check_budget(const std::string &text);

} // namespace smalloc::cli
