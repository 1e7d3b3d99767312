// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/agent/directives.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace smalloc;

namespace {

DirectiveLine parse(const std::string &line, Directive &d) {
  return parse_directive(Text(line.data(), line.size()), d);
}

TEST(DirectiveLine, EveryField) {
  Directive d;
  const std::string line =
      "0123456789abcdef/00000000000000ff page=2m rank=3 pmb=87.5 superpages=512 "
      "numa=interleave # main app.c:12";
  ASSERT_EQ(parse(line, d), DirectiveLine::kDirective);
  EXPECT_EQ(d.site, 0x0123456789abcdefu);
  EXPECT_TRUE(d.has_context);
  EXPECT_EQ(d.context, 255u);
  EXPECT_EQ(d.page_shift, 21u);
  EXPECT_EQ(d.rank, 3u);
  EXPECT_EQ(d.pmb_thousandths, 87500u);
  EXPECT_EQ(d.superpages, 512u);
  EXPECT_TRUE(d.numa.is("interleave"));
  EXPECT_TRUE(d.comment.is("main app.c:12"));
}

TEST(DirectiveLine, ShortOnesAndThoseOfTheFuture) {
  Directive d;
  EXPECT_EQ(parse("0123456789abcdef page=base", d), DirectiveLine::kDirective);
  EXPECT_EQ(d.page_shift, 12u);
  EXPECT_EQ(parse("0123456789abcdef page=1g colour=blue", d), DirectiveLine::kDirective);
  EXPECT_EQ(d.page_shift, 30u);
  EXPECT_EQ(parse("", d), DirectiveLine::kNothing);
  EXPECT_EQ(parse("   # comment", d), DirectiveLine::kNothing);
}

TEST(DirectiveLine, Bad) {
  Directive d;
  for (const char *line : {"0123456789abcde page=2m",
                           "0123456789ABCDEF page=2m",
                           "0123456789abcdef",
                           "page=2m",
                           "0123456789abcdefpage=2m",
                           "0123456789abcdef page=4m",
                           "0123456789abcdef page=2m rank=x",
                           "0123456789abcdef page=2m pmb=1.2.3",
                           "0123456789abcdef page=2m rank=99999999999999999999999",
                           "0123456789abcdef/12 page=2m",
                           "0123456789abcdef page=2m x",
                           "0123456789abcdef page=2m =x",
                           "0123456789abcdef page=2mb",
                           "0123456789abcdef page=",
                           "0123456789abcdef page=2m rank=",
                           "0123456789abcdef page=2m rank=1.5",
                           "0123456789abcdef page=2m pmb=.5",
                           "0123456789abcdef page=2m held=3/2",
                           "0123456789abcdef page=2m held=3",
                           "0123456789abcdef page=2m held=1/2/3"})
    EXPECT_EQ(parse(line, d), DirectiveLine::kBad) << line;
}

// Eight digits are parsed together: test each place with each byte.
TEST(DirectiveLine, OnlyLowerCaseHexadecimalDigits) {
  for (size_t place = 0; place < 16; place++)
    for (unsigned byte = 0; byte < 256; byte++) {
      std::string line = "0123456789abcdef page=2m";
      line[place] = static_cast<char>(byte);
      const std::string digits = "0123456789abcdef";
      const size_t value = digits.find(static_cast<char>(byte));
      Directive d;
      const bool good = parse(line, d) == DirectiveLine::kDirective;
      ASSERT_EQ(good, value != std::string::npos) << place << ", " << byte;
      if (good) {
        ASSERT_EQ(d.site >> (60 - 4 * place) & 15, value);
      }
    }
}

TEST(DirectiveLine, DecimalsAndWhatIsFiner) {
  Directive d;
  for (auto [text, thousandths] : {std::pair("7", uint64_t{7000}),
                                   {"7.", 7000u},
                                   {"7.5", 7500u},
                                   {"7.125", 7125u},
                                   {"7.12599", 7125u},
                                   {"18446744073709552", 1000000000000000000u},
                                   {"0.001", 1u}}) {
    const std::string line = std::string("0123456789abcdef page=2m pmb=") + text;
    ASSERT_EQ(parse(line, d), DirectiveLine::kDirective) << line;
    EXPECT_EQ(d.pmb_thousandths, thousandths) << line;
  }
}

class DirectivesAtStart : public testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/smalloc-directives.XXXXXX";
    const int fd = mkstemp(name);
    ASSERT_GE(fd, 0);
    close(fd);
    path_ = name;
  }
  void TearDown() override { unlink(path_.c_str()); }
  const char *load(const std::string &text) {
    std::ofstream(path_) << text;
    return directives_.load(path_.c_str());
  }
  std::string path_;
  Directives directives_;
};

TEST_F(DirectivesAtStart, FindsSitesAndContexts) {
  ASSERT_EQ(load("# smalloc.directives/1 program=x\n"
                 "0000000000000005 page=2m\n"
                 "0000000000000001/0000000000000007 page=base\n"
                 "nonsense\n"
                 "0000000000000001 page=2m # no newline at the end"),
            nullptr);
  EXPECT_EQ(directives_.count(), 3u);
  EXPECT_EQ(directives_.bad_lines(), 1u);
  EXPECT_EQ(directives_.page_shift(1, 7), 12u);
  EXPECT_EQ(directives_.page_shift(1, 8), 21u);
  EXPECT_EQ(directives_.page_shift(5, 0), 21u);
  EXPECT_EQ(directives_.page_shift(4, 0), 0u);
  EXPECT_EQ(directives_.page_shift(UINT64_MAX, 0), 0u);
}

TEST_F(DirectivesAtStart, AnyOrderIsSorted) {
  std::string text = "# smalloc.directives/1\n";
  for (unsigned i = 0; i < 3000; i++) {
    char line[64];
    snprintf(line, sizeof line, "%016x page=%s\n", (i * 7919u) % 3001u, i % 2 ? "2m" : "base");
    text += line;
  }
  ASSERT_EQ(load(text), nullptr);
  for (unsigned i = 0; i < 3000; i++)
    ASSERT_EQ(directives_.page_shift((i * 7919u) % 3001u, 0), i % 2 ? 21u : 12u);
}

// Lines longer than the buffer, comment included, are bad, and the next one counts.
TEST_F(DirectivesAtStart, LongLines) {
  const std::string much(200'000, 'x');
  ASSERT_EQ(load("# smalloc.directives/1 program=" + much +
                 "\n"
                 "0000000000000005 page=2m # " +
                 much +
                 "\n"
                 "0000000000000006 page=2m later=" +
                 much + " page=base\n# " + much + "\n0000000000000007 page=2m\n"),
            nullptr);
  EXPECT_EQ(directives_.count(), 1u);
  EXPECT_EQ(directives_.bad_lines(), 2u);
  EXPECT_EQ(directives_.page_shift(5, 0), 0u);
  EXPECT_EQ(directives_.page_shift(6, 0), 0u);
  EXPECT_EQ(directives_.page_shift(7, 0), 21u);
}

// The first line for a key counts, in any order of the file, as for the command and the plugin.
TEST_F(DirectivesAtStart, OfSeveralLinesForOneSiteTheFirstCounts) {
  for (unsigned before = 0; before < 9; before++) {
    std::string text = "# smalloc.directives/1\n";
    for (unsigned i = 0; i < before; i++)
      text += "fffffffffffffff" + std::to_string(9 - i) + " page=64k\n";
    text += "1000000000000000 page=base\n1000000000000000 page=2m\n"
            "1000000000000000/0000000000000001 page=1g\n"
            "1000000000000000/0000000000000001 page=2m\n0000000000000001 page=base\n";
    directives_ = Directives();
    ASSERT_EQ(load(text), nullptr);
    EXPECT_EQ(directives_.page_shift(0x1000000000000000, 0), 12u) << before;
    EXPECT_EQ(directives_.page_shift(0x1000000000000000, 1), 30u) << before;
  }
}

TEST_F(DirectivesAtStart, TheLongestLineAndOneMore) {
  for (const bool too_long : {false, true}) {
    std::string line = "0000000000000005 page=2m #";
    line.resize(SMALLOC_DIRECTIVE_MOST_BYTES + too_long, 'x');
    for (const char *end : {"", "\n", "\n0000000000000006 page=2m\n"}) {
      directives_ = Directives();
      ASSERT_EQ(load("# smalloc.directives/1\n" + line + end), nullptr);
      EXPECT_EQ(directives_.page_shift(5, 0), too_long ? 0u : 21u);
      EXPECT_EQ(directives_.page_shift(6, 0), strlen(end) > 1 ? 21u : 0u);
    }
  }
}

// The part of a header after the buffer is lost, and a cut word must not count as a word.
TEST_F(DirectivesAtStart, ALongHeaderKeepsItsWholeWords) {
  std::string header = "# smalloc.directives/1 base_runs=7 later=";
  header.resize((64u << 10) - 13, 'x');
  ASSERT_EQ(load(header + " base_ms=1234567 verdict=slower\n0000000000000005 page=2m\n"), nullptr);
  EXPECT_EQ(directives_.header().base_runs, 7u);
  EXPECT_EQ(directives_.header().base_ms, 0u);
  EXPECT_EQ(directives_.count(), 1u);
}

TEST_F(DirectivesAtStart, PlacesGoToWhoAsks) {
  static std::vector<std::string> places;
  static size_t most;
  places.clear();
  std::ofstream(path_) << "# smalloc.directives/1\n0000000000000001 page=2m numa=-\n"
                          "0000000000000002 page=2m numa=interleave\n0000000000000003 page=2m\n"
                          "0000000000000004 page=base numa=0-1\n";
  ASSERT_EQ(directives_.load(path_.c_str(),
                             [](const Directive &d, size_t at_most) {
                               places.emplace_back(d.numa.data, d.numa.size);
                               most = at_most;
                             }),
            nullptr);
  EXPECT_EQ(places, (std::vector<std::string>{"interleave", "0-1"}));
  EXPECT_GE(most, places.size());
  EXPECT_EQ(directives_.count(), 4u);
}

TEST_F(DirectivesAtStart, SaysWhyNot) {
  EXPECT_STREQ(load(""), "it is empty");
  EXPECT_STREQ(load("0000000000000005 page=2m\n"),
               "it does not begin with '# smalloc.directives/1'");
  EXPECT_STREQ(load("# smalloc.directives/12\n0000000000000005 page=2m\n"),
               "it does not begin with '# smalloc.directives/1'");
  EXPECT_STREQ(directives_.load("/nosuch/file"), "no such file");
  EXPECT_STREQ(directives_.load("/tmp"), "it is a directory");
  EXPECT_STREQ(directives_.load("/dev/zero"), "it is a device, not a file");
  unlink(path_.c_str());
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_STREQ(directives_.load(path_.c_str()), // and does not hang
               "it is a pipe, not a file: save in one what comes out of it");
  EXPECT_FALSE(directives_.any());
}

// The table for the greatest number of lines is an address range, not memory.
TEST_F(DirectivesAtStart, EmptyLinesTakeNoMemory) {
  const auto resident = [] {
    long size = 0, pages = 0;
    std::ifstream("/proc/self/statm") >> size >> pages;
    return pages * getpagesize();
  };
  std::ofstream(path_) << "# smalloc.directives/1\n" << std::string(15u << 20, '\n');
  const long before = resident();
  EXPECT_EQ(directives_.load(path_.c_str()), nullptr);
  EXPECT_LT(resident() - before, 64l << 20);
}

TEST_F(DirectivesAtStart, TooLargeIsRefused) {
  std::ofstream(path_) << "# smalloc.directives/1\n";
  ASSERT_EQ(truncate(path_.c_str(), static_cast<off_t>(Directives::kMostBytes) + 1), 0);
  EXPECT_STREQ(directives_.load(path_.c_str()), "it is larger than 16 MiB");
}

} // namespace
