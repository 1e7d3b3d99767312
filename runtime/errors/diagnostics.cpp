// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// diagnostics.cpp formats errors, warnings and notes and prints them on standard error.
#include "runtime/errors/diagnostics.h"

#include <cctype>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

bool quiet_ = false;

std::string sentence(std::string_view kind, std::string_view what, std::string_view which,
                     std::string_view why, std::string_view hint) {
  std::string text = fmt::format("smalloc: {}: {}", kind, printable(what));
  if (!which.empty())
    text += fmt::format(" ({})", printable(which));
  if (!why.empty())
    text += fmt::format(": {}", printable(why));
  text += '\n';
  if (!hint.empty())
    text += fmt::format("hint: {}\n", printable(hint));
  return text;
}

} // namespace

std::string printable(std::string_view text) {
  std::string safe(text);
  for (char &c : safe)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  return safe;
}

std::string error_text(int error_number) {
  std::string text = std::strerror(error_number);
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])))
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::string describe(const Failure &f) { return sentence("error", f.what, f.which, f.why, f.hint); }

void print_failure(const Failure &failure) { std::fputs(describe(failure).c_str(), stderr); }

void print_warning(std::string_view what, std::string_view which, std::string_view why,
                   std::string_view hint) {
  std::fputs(sentence("warning", what, which, why, hint).c_str(), stderr);
}

void print_note(std::string_view text) {
  if (!quiet_)
    std::fputs(fmt::format("smalloc: note: {}\n", printable(text)).c_str(), stderr);
}

void set_quiet(bool quiet) { quiet_ = quiet; }

} // namespace smalloc::cli
