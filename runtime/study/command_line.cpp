// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// command_line.cpp splits lines into words and quotes words for a shell.
#include "runtime/study/command_line.h"

#include <algorithm>

#include <fmt/format.h>

namespace smalloc::study {

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  char quote = 0;
  for (size_t i = 0; i < line.size(); i++) {
    const char c = line[i];
    if (c == '\\' && quote != '\'') {
      if (++i == line.size())
        throw CommandLineError("a backslash ends the line");
      word += line[i];
      inside = true;
    } else if (quote) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      inside = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      if (inside)
        words.push_back(std::move(word));
      word.clear();
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (quote)
    throw CommandLineError(fmt::format("a quote ({}) is not closed", quote));
  if (inside)
    words.push_back(std::move(word));
  return words;
}

std::string shell_word(const std::string &word) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-+./:,=@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain))
    return word;
  std::string quoted = "'";
  for (const char c : word)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string short_name(const std::vector<std::string> &command) {
  return command.empty() ? std::string() : command[0].substr(command[0].rfind('/') + 1);
}

std::vector<SuiteCommand> parse_suite(std::string_view text) {
  std::vector<SuiteCommand> commands;
  for (size_t number = 1; !text.empty(); number++) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    // The line, not its first word: a comment may hold an apostrophe, a command begin with '#x'.
    const size_t begin = std::min(line.find_first_not_of(" \t\r"), line.size());
    if (line.substr(begin).starts_with('#'))
      continue;
    std::vector<std::string> words;
    try {
      words = split_words(line);
    } catch (const CommandLineError &error) {
      throw CommandLineError(fmt::format("line {}: {}", number, error.what()));
    }
    if (words.empty())
      continue;
    SuiteCommand command;
    command.line = number;
    if (words[0].size() > 1 && words[0].back() == ':') {
      command.name = words[0].substr(0, words[0].size() - 1);
      words.erase(words.begin());
    }
    if (words.empty())
      throw CommandLineError(fmt::format("line {}: a name without a command", number));
    if (command.name.empty())
      command.name = short_name(words);
    command.words = std::move(words);
    commands.push_back(std::move(command));
  }
  return commands;
}

} // namespace smalloc::study
