// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// command_line.h decides how a suite file becomes commands: one a line, words split as a shell
// splits them (blanks, quotes, backslashes) but nothing expanded; `NAME: COMMAND` names it, a line
// that begins with # says nothing; and how a word is written where somebody may paste it into a shell.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace smalloc::study {

struct SuiteCommand {
  std::string name; // the program's file name unless given
  std::vector<std::string> words;
  size_t line = 0; // of the suite, from 1; 0: it comes from the command line
};

// what() is the reason in words, with the line's number where there is one.
class CommandLineError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

std::vector<std::string> split_words(std::string_view line);  // throws CommandLineError
std::vector<SuiteCommand> parse_suite(std::string_view text); // throws CommandLineError
std::string shell_word(const std::string &word);              // split_words() makes it one again
std::string short_name(const std::vector<std::string> &command);

} // namespace smalloc::study
