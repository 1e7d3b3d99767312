// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// diagnostics.h decides the form of everything that the command says when it cannot do what was
// asked: `smalloc: error: WHAT (WHICH): WHY`, then `hint: the next command`, and the exit status
// that goes with it.
//
// Failures travel as exceptions, because every one of them ends the verb and is printed in one
// place (main.cpp).
#pragma once

#include <string>
#include <string_view>

namespace smalloc::cli {

// What a caller can rely on; 125 to 127 are those of env(1) and belong to verbs that run a command.
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
  std::string hint; // empty: there is no next command
  int status = kFailed;
};

// The lines as printed, each with its newline. Control characters, which may come from a hostile
// file, are replaced.
std::string describe(const Failure &failure);

void print_failure(const Failure &failure);
// Something is wrong, and the verb goes on.
void print_warning(std::string_view what, std::string_view which, std::string_view why,
                   std::string_view hint = {});
// Nothing is wrong, but the reader should know; silenced by --quiet.
void print_note(std::string_view text);
void set_quiet(bool quiet);

// Text from a file made safe for a terminal: control characters (escape sequences among them)
// become '?'.
std::string printable(std::string_view text);

// strerror without the locale's surprises: "No such file or directory" becomes "no such file or
// directory".
std::string error_text(int error_number);

} // namespace smalloc::cli
