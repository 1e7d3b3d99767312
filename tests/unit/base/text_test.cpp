// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of the allocator's text: numbers, sizes, columns, and cut text.
#include "smalloc/base/text.h"

#include <gtest/gtest.h>
#include <string>

namespace smalloc {
namespace {
template <size_t n> std::string str(const TextBuffer<n> &t) {
  return std::string(t.data(), t.size());
}

TEST(TextBuffer, Numbers) {
  TextBuffer<200> t;
  t.number(0).put_char(' ').number(UINT64_MAX).put_char(' ').hex(0xabc);
  EXPECT_EQ(str(t), "0 18446744073709551615 0000000000000abc");
}
TEST(TextBuffer, SizesAreIec) {
  TextBuffer<200> t;
  t.bytes(0).put(",").bytes(1023).put(",").bytes(1024).put(",").bytes(1536).put(",").bytes(
      uint64_t{5} << 40);
  EXPECT_EQ(str(t), "0 B,1023 B,1.0 KiB,1.5 KiB,5.0 TiB");
}
TEST(TextBuffer, CutsWhatDoesNotFit) {
  TextBuffer<4> t;
  t.put("abcdef").put("g");
  EXPECT_EQ(str(t), "abcd");
}
TEST(ParseShare, TakesSharesOnly) {
  EXPECT_EQ(parse_share("1"), 1);
  EXPECT_EQ(parse_share("0.25"), 0.25);
  EXPECT_EQ(parse_share(".5"), 0.5);
  EXPECT_EQ(parse_share("1e-09"), 1e-9);
  EXPECT_EQ(parse_share("0.01"), 0.01);
  for (const char *bad : {"", "0", "0.0", "2", "1.01", "-1", "x", "0.1x", "1e", "1e-", "0.1.1", ".",
                          "0,5", "nan", "1e-999"})
    EXPECT_EQ(parse_share(bad), -1) << bad;
}
TEST(TextBuffer, ColumnCountsFromTheLastLine) {
  TextBuffer<64> t;
  t.put("x\nab").column(5).put("|");
  EXPECT_EQ(str(t), "x\nab   |");
}
} // namespace
} // namespace smalloc
