// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/database/run_comparison.h"

#include <gtest/gtest.h>

namespace smalloc::database {
namespace {

struct JudgementTest : testing::Test {
  void add(const char *kind, double seconds, const char *input = "1", const char *host = "h") {
    database::Run run;
    run.kind = kind;
    run.host = host;
    run.input = input;
    run.user_seconds = seconds;
    run.started_ns = ++now_;
    runs.push_back(run);
  }
  std::vector<database::Run> runs;
  int64_t now_ = 0;
};

TEST_F(JudgementTest, NothingIsSaidBeforeThreeOfEach) {
  EXPECT_FALSE(judge(runs).enough);
  for (double t : {1.0, 1.0, 1.0})
    add("base", t);
  add("superpages", 9);
  add("superpages", 9);
  EXPECT_FALSE(judge(runs).enough);
  EXPECT_FALSE(judge(runs).slower);
  add("superpages", 9);
  EXPECT_TRUE(judge(runs).slower);
}

// Some machines count misses and others do not; some runs were behind a filter.
TEST_F(JudgementTest, MissesAreOfTheRunsThatCounted) {
  for (const int64_t misses : {50, 0, 70, 60}) {
    add("base", 1);
    if (misses)
      runs.back().tlb_misses = misses;
  }
  add("superpages", 1);
  EXPECT_EQ(judge(runs).base_tlb_misses, 60.0);
  EXPECT_FALSE(judge(runs).superpage_tlb_misses.has_value());
  runs.back().tlb_misses = 5;
  EXPECT_EQ(judge(runs).superpage_tlb_misses, 5.0);
}

// Long runs touch many superpages, and count accordingly.
TEST_F(JudgementTest, ASuperpagesTouchIsTheMeanOfAllThatWereTouched) {
  add("superpages", 1);
  EXPECT_FALSE(judge(runs).touch_seconds.has_value());
  runs.back().superpages_touched = 30;
  runs.back().touch_seconds = 0.003;
  add("superpages", 1);
  runs.back().superpages_touched = 10;
  runs.back().touch_seconds = 0.005;
  add("base", 1);
  runs.back().superpages_touched = 1000; // probably refused: on base pages
  runs.back().touch_seconds = 1000;
  EXPECT_NEAR(*judge(runs).touch_seconds, 0.0002, 1e-12);
}

TEST_F(JudgementTest, InsideTheSpreadIsNotSlower) {
  for (double t : {1.0, 1.3, 1.1})
    add("base", t);
  for (double t : {1.29, 1.4, 1.5})
    add("superpages", t);
  EXPECT_TRUE(judge(runs).enough);
  EXPECT_FALSE(judge(runs).slower); // one of the last three is within the spread
  add("superpages", 1.35);
  EXPECT_TRUE(judge(runs).slower);
  add("superpages", 0.9);
  EXPECT_FALSE(judge(runs).slower);
}

TEST_F(JudgementTest, LessThanAPercentIsNotSlower) {
  for (double t : {1.000, 1.001, 1.002})
    add("base", t);
  for (double t : {1.003, 1.004, 1.005})
    add("superpages", t);
  EXPECT_FALSE(judge(runs).slower);
}

TEST_F(JudgementTest, OnlyTheSameInputAndHostCount) {
  for (double t : {1.0, 1.0, 1.0}) {
    add("base", t);
    add("base", t * 100, "2");
    add("base", t * 100, "1", "slow");
  }
  for (double t : {2.0, 2.0, 2.0})
    add("superpages", t);
  const Judgement j = judge(runs);
  EXPECT_EQ(j.base_runs, 3u);
  EXPECT_EQ(j.host, "h");
  EXPECT_TRUE(j.slower);
}

TEST_F(JudgementTest, RecordedRunsAreNoMeasure) {
  for (double t : {5.0, 5.0, 5.0})
    add("recorded", t);
  for (double t : {2.0, 2.0, 2.0})
    add("superpages", t);
  EXPECT_FALSE(judge(runs).enough);
}

TEST_F(JudgementTest, DirectivesOfBeforeDoNotCount) {
  for (double t : {1.0, 1.0, 1.0})
    add("base", t);
  for (double t : {2.0, 2.0, 2.0})
    add("superpages", t);
  EXPECT_TRUE(judge(runs).slower);
  EXPECT_FALSE(judge(runs, now_ + 1).slower);
  EXPECT_EQ(judge(runs, now_ + 1).base_runs, 3u); // runs on base pages count from any time
}

// A small input loses by its superpages, a large one gains.
TEST_F(JudgementTest, EachInputIsJudgedByItself) {
  for (const char *input : {"large", "small", ""}) {
    for (double t : {1.0, 1.0, 1.0})
      add("base", t, input);
    for (double t : {2.0, 2.0, 2.0})
      add("superpages", *input == 'l' ? 0.5 : t, input);
  }
  add("superpages", 0.5, "large");
  EXPECT_FALSE(judge(runs).slower);
  EXPECT_EQ(judge(runs).input, "large");
  EXPECT_TRUE(judge(runs, 0, "small").slower);
  EXPECT_EQ(judge(runs, 0, "small").base_runs, 3u);
  EXPECT_FALSE(judge(runs, 0, "none").enough);
  EXPECT_EQ(slower_inputs(runs), (std::vector<std::string>{"", "small"}));
  EXPECT_TRUE(slower_inputs(runs, now_ + 1).empty());
}

} // namespace
} // namespace smalloc::database
