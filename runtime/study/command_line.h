// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// command_line.h parses a suite file into commands, one per line. It splits words as a shell does
// (blanks, quotes, backslashes) but expands nothing. Unlike in a shell, a backslash quotes any
// character within double quotes, too. `NAME: COMMAND` names a command; a line that begins with #
// is a comment. shell_word() quotes a word so that a user can paste it into a shell.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace smalloc::study {

struct SuiteCommand {
  std::string name; // the program's file name if the line has no NAME
  std::vector<std::string> words;
  size_t line = 0; // line number in the suite, from 1; 0: from the command line
};

// Error in a command line. what() is the reason in words, with the line number if there is one.
class CommandLineError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

std::vector<std::string> split_words(std::string_view line);  // throws CommandLineError
std::vector<SuiteCommand> parse_suite(std::string_view text); // throws CommandLineError
std::string shell_word(const std::string &word);              // quoted; split_words() restores
                                                              // `word`
std::string short_name(const std::vector<std::string> &command);

} // namespace smalloc::study
