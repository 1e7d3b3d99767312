// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// table_test.cpp tests that text is cut and broken between code points, and that long names get a
// line.
#include "runtime/cli/sites/site_report.h"
#include "runtime/cli/table.h"

#include <cstring>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

TEST(Table, ShortenedCutsCodePoints) {
  EXPECT_EQ(shortened("short", 5), "short");
  EXPECT_EQ(shortened("too long", 6), "too...");
  for (const size_t columns : {0, 1, 2, 3})
    EXPECT_EQ(shortened("too long", columns), std::string(columns, '.'));
  EXPECT_EQ(shortened("\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc", 6),
            "\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc");
  EXPECT_EQ(shortened("\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc\u00e4", 6), "\u00e4\u00f6\u00fc...");
}
TEST(Table, WrappedBreaksBetweenWords) {
  EXPECT_EQ(wrapped("one two three", 0, 2), "one two three");
  EXPECT_EQ(wrapped("one two three", 80, 2), "one two three");
  EXPECT_EQ(wrapped("  why: one two three four", 14, 4), "  why: one two\n    three four");
  EXPECT_EQ(wrapped("abc averyveryverylongword b", 10, 2), "abc\n  averyveryverylongword\n  b");
}
TEST(Table, ATemplatesNameGetsALineOfItsOwn) {
  Site site;
  std::memset(&site.record, 0, sizeof site.record);
  // std::vector<std::map<int, double>>::emplace_back<std::map<int, double>>(...), and so on
  site.function =
      "_ZNSt6vectorISt3mapIidSt4lessIiESaISt4pairIKidEEESaIS6_EE12emplace_backIJS6_EEERS6_DpOT_";
  site.file = "a.cpp";
  const std::string full = readable_function(site.function);
  ASSERT_GT(full.size(), 60u);
  const std::string text = site_text(site_document({site}, "app", ""), Colour::kOff, true);
  EXPECT_NE(text.find("\n    in: " + full + "\n"), std::string::npos) << text;
  EXPECT_NE(text.find(full.substr(0, 37) + "...  a.cpp"), std::string::npos) << text;
}

} // namespace
} // namespace smalloc::cli
