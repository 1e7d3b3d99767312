// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fail_if_test.cpp tests which thresholds are parsed, which are crossed, and that a misspelt key
// always fails.
#include "runtime/cli/fail_if.h"
#include "runtime/errors/diagnostics.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

const nlohmann::ordered_json kDocument = nlohmann::ordered_json::parse(R"({
  "totals": {"sites": 3, "share": 0.5},
  "unknown": null, "name": "x", "empty": [],
  "sites": [{"spread": 10}, {"spread": null}, {"spread": 30}],
  "checks": [{"name": "thp", "value": 1}, {"name": "numa", "value": 2}]})");

bool crossed(const std::string &text) {
  std::string found;
  return crosses(parse_fail_if(text), kDocument, found);
}

TEST(FailIf, ComparesWithEachOperator) {
  EXPECT_TRUE(crossed("totals.sites > 2"));
  EXPECT_FALSE(crossed("totals.sites > 3"));
  EXPECT_TRUE(crossed("totals.sites>=3"));
  EXPECT_TRUE(crossed("totals.share < 0.75"));
  EXPECT_FALSE(crossed("totals.share <= 0.25"));
  EXPECT_TRUE(crossed("totals.sites == 3"));
  EXPECT_FALSE(crossed("totals.sites != 3"));
}

TEST(FailIf, FindsElementsByIndexNameAndStar) {
  EXPECT_TRUE(crossed("sites.0.spread == 10"));
  EXPECT_TRUE(crossed("sites.*.spread > 20"));
  EXPECT_FALSE(crossed("sites.*.spread > 30"));
  EXPECT_TRUE(crossed("checks.numa.value == 2"));
  EXPECT_FALSE(crossed("empty.*.spread > 0"));
}

TEST(FailIf, UnknownNeverCrosses) {
  EXPECT_FALSE(crossed("unknown > 0"));
  EXPECT_FALSE(crossed("unknown <= 0"));
  EXPECT_FALSE(crossed("sites.1.spread != 5"));
}

TEST(FailIf, SaysWhatCrossed) {
  std::string found;
  ASSERT_TRUE(crosses(parse_fail_if("sites.*.spread > 20"), kDocument, found));
  EXPECT_EQ(found, "sites.2.spread is 30");
}

TEST(FailIf, RejectsWhatItCannotUse) {
  for (const char *text :
       {"", "totals.sites", "totals.sites > ", "totals.sites > many", "> 3", "totals..sites > 3",
        "totals. > 3", "totals.sites = 3", "totals.sites > 3x", "totals.sites > inf"}) {
    try {
      parse_fail_if(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Failure &failure) {
      EXPECT_EQ(failure.status, kUsage) << text;
    }
  }
  for (const char *text :
       {"total > 3", "totals > 3", "name > 3", "totals.sites.x > 3", "sites.7.spread > 3",
        "sites.x.spread > 3", "checks.nothing.value > 3"}) {
    try {
      crossed(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Failure &failure) {
      EXPECT_EQ(failure.status, kUsage) << text;
    }
  }
}

} // namespace
} // namespace smalloc::cli
