// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/directives/directives_file.h"
#include "smalloc/include/smalloc/directive.h"

#include <gtest/gtest.h>

using namespace smalloc::directives;

namespace {

const char kCanonical[] =
    "# smalloc.directives/1 machine=zen4 program=0badc0de\n"
    "0000000000000001 page=2m rank=2 pmb=50.0 superpages=7 numa=- # f(int) a.c:3\n"
    "0000000000000001/00000000000000ff page=base rank=0 superpages=0 numa=-\n"
    "ffffffffffffffff page=1g rank=1 pmb=100.0 superpages=512 numa=interleave # main b.c:9\n";

TEST(DirectivesFile, CanonicalFormIsAFixedPoint) {
  EXPECT_EQ(print(parse(kCanonical)), kCanonical);
}

TEST(DirectivesFile, AnyOrderAndSpacingPrintsTheSame) {
  const char *loose =
      "# smalloc.directives/1 program=0badc0de machine=zen4\n\n"
      "ffffffffffffffff\tnuma=interleave page=1g superpages=512 pmb=100 rank=1 # main b.c:9\r\n"
      "# a remark\n"
      "0000000000000001/00000000000000ff page=base\n"
      "   0000000000000001 page=2m rank=2 pmb=50.0 superpages=7 # f(int) a.c:3\n"
      "0000000000000001 page=base rank=9 # the first line counts";
  std::string text = print(parse(loose));
  // The carriage return of a foreign editor is part of the comment: it is printed as '?'.
  EXPECT_EQ(text.replace(text.find("b.c:9?"), 6, "b.c:9"), kCanonical);
}

TEST(DirectivesFile, BadLinesAreNoted) {
  const File file =
      parse("# smalloc.directives/1\nnonsense\n0000000000000001 page=2m\n12 page=2m\n");
  EXPECT_EQ(file.entries.size(), 1u);
  EXPECT_EQ(file.bad_lines, (std::vector<size_t>{2, 4}));
  EXPECT_THROW(parse("0000000000000001 page=2m\n"), FormatError);
  EXPECT_THROW(parse(""), FormatError);
  EXPECT_THROW(parse("# smalloc.directives/12\n"), FormatError);
  // A line that a program would not read as a whole.
  const std::string line = "0000000000000001 page=2m # ", much(65536 - line.size(), 'x');
  EXPECT_EQ(parse("# smalloc.directives/1\n" + line + much.substr(1) + "\n").entries.size(), 1u);
  EXPECT_EQ(parse("# smalloc.directives/1\n" + line + much + "\n").bad_lines,
            std::vector<size_t>{2});
}

TEST(DirectivesFile, ComparesDecisions) {
  const File a = parse("# smalloc.directives/1\n0000000000000001 page=2m pmb=5\n"
                       "0000000000000002 page=2m\n0000000000000003 page=2m\n");
  const File b = parse("# smalloc.directives/1\n0000000000000001 page=2m pmb=9\n"
                       "0000000000000003 page=base\n0000000000000004 page=2m\n");
  const auto d = compare(a, b);
  ASSERT_EQ(d.size(), 3u);
  EXPECT_TRUE(d[0].key.site == 2 && d[0].before && !d[0].after);
  EXPECT_TRUE(d[1].key.site == 3 && d[1].before && d[1].after);
  EXPECT_TRUE(d[2].key.site == 4 && !d[2].before && d[2].after);
  EXPECT_TRUE(compare(a, a).empty());
}

// A reader takes base pages for a line that did not hold, and for all lines of a program that was
// slower.
TEST(DirectivesFile, ComparesWhatReadersTake) {
  const std::string head = "# smalloc.directives/1", lines = "\n0000000000000001 page=2m held=3/7\n"
                                                             "0000000000000002 page=2m held=4/7\n";
  const File plain = parse(head + "\n0000000000000001 page=2m\n0000000000000002 page=2m\n"),
             tried = parse(head + lines), slower = parse(head + " verdict=slower" + lines),
             base = parse(head + "\n0000000000000001 page=base\n0000000000000002 page=base\n");
  const auto d = compare(plain, tried);
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].key.site, 1u);
  EXPECT_EQ(compare(plain, slower).size(), 2u);
  EXPECT_TRUE(compare(slower, base).empty());
  // With these inputs only: superpages are used all the same, and other lines with other inputs.
  const File some = parse(head + " verdict=slower slower_inputs=a,b" + lines),
             others = parse(head + " verdict=slower slower_inputs=a,c" + lines);
  EXPECT_EQ(slower_input_count(some), 2u);
  EXPECT_EQ(slower_input_count(slower), 0u);
  EXPECT_TRUE(compare(some, some).empty());
  ASSERT_EQ(compare(some, others).size(), 1u); // the other line is given up
  EXPECT_EQ(compare(some, others)[0].key.site, 2u);
  EXPECT_EQ(compare(some, tried).size(), 1u);
  EXPECT_EQ(decided_shift(tried, *d[0].after), 12u);
}

TEST(DirectivesFile, MergesByBenefit) {
  const File a =
      parse("# smalloc.directives/1 program=p machine=x\n0000000000000001 page=base pmb=1\n"
            "0000000000000002 page=2m pmb=80\n");
  const File b =
      parse("# smalloc.directives/1 program=p machine=y\n0000000000000001 page=2m pmb=90\n"
            "0000000000000002 page=base pmb=0\n");
  EXPECT_EQ(print(merge(a, b)), "# smalloc.directives/1 program=p\n"
                                "0000000000000001 page=2m rank=1 pmb=90.0 superpages=0 numa=-\n"
                                "0000000000000002 page=2m rank=2 pmb=80.0 superpages=0 numa=-\n");
}

// A program slower with one input here and with another there is not slower with any. And a history
// is of one input.
TEST(DirectivesFile, MergesWhatInputsHaveShown) {
  const auto of = [](const std::string &words) {
    return parse("# smalloc.directives/1 " + words + "\n0000000000000001 page=2m pmb=1\n");
  };
  using Header = std::map<std::string, std::string>;
  const auto merged = [&](const std::string &a, const std::string &b) {
    const Header one = merge(of(a), of(b)).header;
    EXPECT_EQ(one, merge(of(b), of(a)).header);
    return one;
  };
  const std::string slower = "verdict=slower slower_inputs=";
  EXPECT_EQ(merged(slower + "b,c", slower + "a,b"),
            (Header{{"slower_inputs", "a,b,c"}, {"verdict", "slower"}}));
  EXPECT_EQ(merged(slower + "b", slower + "b"),
            (Header{{"slower_inputs", "b"}, {"verdict", "slower"}}));
  EXPECT_EQ(merged(slower + "b", "verdict=slower"), (Header{{"verdict", "slower"}}));
  EXPECT_TRUE(merged(slower + "b", "base_runs=3").empty());
  std::string many = "x";
  for (int i = 0; i < SMALLOC_DIRECTIVE_SLOWER_INPUTS; i++)
    many += "," + std::to_string(i);
  EXPECT_EQ(merged(slower + "b", slower + many), (Header{{"verdict", "slower"}}));
  const std::string history = "base_ms=9 base_runs=3 base_input=";
  EXPECT_TRUE(merged(history + "a", history + "b").empty());
  EXPECT_EQ(merged(history + "a", history + "a").size(), 3u);
}

TEST(DirectivesFile, CommentsStayOnTheirLine) {
  File file;
  file.entries[{1, false, 0}].comment = "evil\nffffffffffffffff page=1g";
  EXPECT_EQ(parse(print(file)).entries.size(), 1u);
}

// A line without pmb= passes every threshold: merged and printed, it must not become one of no
// benefit.
TEST(DirectivesFile, NoPmbStaysNone) {
  const File plain = parse("# smalloc.directives/1\n0000000000000001 page=2m\n");
  EXPECT_EQ(print(plain).find("pmb="), std::string::npos) << print(plain);
  const File other = parse("# smalloc.directives/1\n0000000000000001 page=base pmb=0.3\n");
  for (const File &merged : {merge(plain, other), merge(other, plain)})
    EXPECT_EQ(print(merged).find("0000000000000001 page=2m rank=1 superpages=0"),
              print(merged).find("0000000000000001"))
        << print(merged);
}

TEST(DirectivesFile, WordsOfTheHeaderEndWithAnySpace) {
  const File file = parse("# smalloc.directives/1\tverdict=slower input=1 input=2\r\n");
  EXPECT_EQ(file.header,
            (std::map<std::string, std::string>{{"input", "2"}, {"verdict", "slower"}}));
}

TEST(DirectivesFile, WhatIsPrintedIsRead) {
  std::string line = "0000000000000001 page=2m # ";
  line.resize(SMALLOC_DIRECTIVE_MOST_BYTES, 'x');
  const File file = parse("# smalloc.directives/1\n" + line + "\n");
  ASSERT_EQ(file.entries.size(), 1u);
  const File again = parse(print(file));
  EXPECT_EQ(again.entries.size(), 1u);
  EXPECT_TRUE(again.bad_lines.empty());
}

} // namespace
