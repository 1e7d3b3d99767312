// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// launch.h finds the command that `smalloc run`, `record` and `apply` start, what can be preloaded
// into it, and its environment. The user's own LD_PRELOAD and SMALLOC_CONF are kept: smalloc's
// library comes first among libraries, and its settings last.
#pragma once

#include "runtime/errors/diagnostics.h"

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace smalloc::cli {

// Returns the command after the options of `verb` and "--". `doing`: "run", for the error if there
// is no command.
std::vector<std::string> command_of(const CLI::App &app, const std::string &verb,
                                    const std::string &doing);

// Properties of a command, read before its start.
struct Target {
  bool has_sites = false;
  bool tells_accesses = false; // compiled with profile-generate
  bool needs_preload = false;  // has sites, and is linked with no library of smalloc
  bool preloadable = true;
  bool is_static = false;
  bool raises_privileges = false; // the loader ignores LD_PRELOAD for it
  std::string obstacle, hint;     // why superpages will not reach it
  // Why libsmalloc cannot follow the compiler's decisions, only serve malloc, and the cure; empty:
  // it can.
  std::string closed_entries, closed_cure;
  std::string build_id; // of the program; empty: none, or it is a script
};

// Reads the program, or a script's interpreter, which is the program that runs.
Target inspect(const std::string &path);

// Prints one line if the program's rewritten calls cannot be served.
void warn_of_closed_entries(const Target &target, const std::string &program);

// Returns the name for LD_PRELOAD of a library beside this command: its path. If musl is on this
// machine, the name is one that only glibc's loader understands. Throws if the library is missing,
// or cannot be named in LD_PRELOAD.
std::string library_to_preload(const std::string &name);

// Returns `allocator` followed by the library that receives recorded accesses. A program that
// records its accesses and migrates pages needs that library when it is loaded.
std::string with_listener(const std::string &allocator);

// Returns both texts with the separator between them, or the one that is not empty.
std::string joined(const std::string &first, const std::string &second, char separator);
// Returns the value of an environment variable; empty if it is not set.
std::string environment(const char *name);

struct Environment {
  std::string preload, conf;
  std::string tunables; // of glibc; empty: unchanged
};
// Returns the environment: `library` before the user's libraries, `settings` after the user's
// settings.
Environment environment_with(const std::string &library, const std::string &settings);
// Prints the environment and the command on standard output, for --dry-run. Returns the exit
// status.
int print_environment(const Environment &environment, const std::vector<std::string> &command);
void set_environment(const Environment &environment);

// Returns why execvp did not start a command, with the status of env(1).
Failure cannot_start(const std::string &command, int error);
[[noreturn]] void become(std::vector<std::string> command);

// Check a value for CLI11. Return an empty text if it is good, else the reason.
std::string check_passed_file(const std::string &text);
std::string check_conf(const std::string &text);
std::string check_budget(const std::string &text);

} // namespace smalloc::cli
