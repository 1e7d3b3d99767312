// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// diagnostics.h reports what the command cannot do. An error is printed as `smalloc: error: WHAT
// (WHICH): WHY`, then `hint: the next command`; each error has an exit status.
//
// A failure is thrown as an exception, because each one ends the verb. main.cpp catches it and
// prints it.
#pragma once

#include <string>
#include <string_view>

namespace smalloc::cli {

// Exit statuses that scripts can rely on. 125 to 127 are those of env(1), for verbs that run a
// command.
enum ExitStatus : int {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kThresholdCrossed = 3,
  kRunFailed = 125,
  kNotExecutable = 126,
  kNotFound = 127,
};

struct Failure {
  std::string what;
  std::string which;
  std::string why;
  std::string hint; // empty: no next command
  int status = kFailed;
};

// Returns the lines of the error as printed, each with its newline. Replaces control characters,
// which may come from a hostile file.
std::string describe(const Failure &failure);

void print_failure(const Failure &failure);
// Prints that something is wrong; the verb continues.
void print_warning(std::string_view what, std::string_view which, std::string_view why,
                   std::string_view hint = {});
// Prints information about a correct result. --quiet suppresses it.
void print_note(std::string_view text);
void set_quiet(bool quiet);

// Returns `text` made safe for a terminal: each control character, also of an escape sequence,
// becomes '?'.
std::string printable(std::string_view text);

// Returns strerror's text with a lower-case first letter, unless the second letter is a capital:
// "No such file or directory" becomes "no such file or directory".
std::string error_text(int error_number);

} // namespace smalloc::cli
