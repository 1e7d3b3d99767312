// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// command_line_test.cpp tests the parsing of a suite's lines.
#include "runtime/study/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smalloc::study {
namespace {

using testing::ElementsAre;

std::string error_of(const char *text) {
  try {
    parse_suite(text);
  } catch (const CommandLineError &error) {
    return error.what();
  }
  return "accepted";
}

TEST(CommandLine, SplitsAsAShellDoes) {
  EXPECT_THAT(split_words("./a  'b c' \"d \\\" e\" f\\ g '' x'y'z"),
              ElementsAre("./a", "b c", "d \" e", "f g", "", "xyz"));
  EXPECT_THAT(split_words("echo $HOME *"), ElementsAre("echo", "$HOME", "*")); // nothing expanded
  EXPECT_TRUE(split_words(" \t\r").empty());
}

TEST(CommandLine, WritesWordsAsItReadsThem) {
  EXPECT_EQ(shell_word("./bin/app-2"), "./bin/app-2");
  EXPECT_EQ(shell_word("my app"), "'my app'");
  for (const char *word : {"", "a b", "it's", "a\\b", "\"q\"", "$HOME", "#x", "plain"})
    EXPECT_THAT(split_words(shell_word(word)), ElementsAre(word)) << word;
}

TEST(CommandLine, NamesCommands) {
  const auto suite = parse_suite("# kernels\n\nbig: ./bin/gups 30\n./bin/transpose 100\r\nx:y z");
  ASSERT_EQ(suite.size(), 3u);
  EXPECT_EQ(suite[0].name, "big");
  EXPECT_EQ(suite[0].line, 3u);
  EXPECT_EQ(suite[2].line, 5u);
  EXPECT_THAT(suite[0].words, ElementsAre("./bin/gups", "30"));
  EXPECT_EQ(suite[1].name, "transpose");
  EXPECT_THAT(suite[2].words, ElementsAre("x:y", "z"));
}

TEST(CommandLine, CommentsHoldAnything) {
  const auto suite = parse_suite("# it's the \"first\n \t# C:\\\n./a '#b'\n'#c' d\n");
  ASSERT_EQ(suite.size(), 2u);
  EXPECT_THAT(suite[0].words, ElementsAre("./a", "#b"));
  EXPECT_THAT(suite[1].words, ElementsAre("#c", "d"));
}

TEST(CommandLine, SaysWhichLineIsWrong) {
  EXPECT_EQ(error_of("./a\n./b 'c\n"), "line 2: a quote (') is not closed");
  EXPECT_EQ(error_of("./a \\"), "line 1: a backslash ends the line");
  EXPECT_EQ(error_of("\nname:\n"), "line 2: a name without a command");
}

} // namespace
} // namespace smalloc::study
