// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When runs ask for another recording: each figure alone, by more than twice, beyond what a program's start is, and never by what nobody knows.
#include "runtime/database/deviation.h"

#include <gtest/gtest.h>

namespace smalloc::database {
namespace {

struct DeviationTest : testing::Test {
  DeviationTest() {
    analysis.page_faults_base = 100000;
    analysis.tlb_misses_base = 5e6;
    runs.base_runs = 1;
    runs.base_faults = 101000;
  }
  /// Their names, with commas between.
  std::string names() const {
    std::string text;
    for (const Deviation &d : deviations(&analysis, runs, realised, given_up, 3))
      text += d.what + ",";
    return text;
  }
  Analysis analysis;
  Judgement runs;
  Realisation realised;
  size_t given_up = 0;
};

TEST_F(DeviationTest, WhatWasPredictedIsNone) {
  EXPECT_EQ(names(), "");
  runs.base_tlb_misses = 9.9e6;
  realised.inputs = 1;
  realised.share = 2;
  EXPECT_EQ(names(), "");
}

TEST_F(DeviationTest, PageFaultsByMoreThanTwice) {
  for (const double faults : {201000.0, 49000.0}) {
    runs.base_faults = faults;
    EXPECT_EQ(names(), "page_faults,");
  }
  runs.base_runs = 0; // nobody ran on base pages
  EXPECT_EQ(names(), "");
}

TEST_F(DeviationTest, AProgramsStartIsNone) {
  analysis.page_faults_base = 10;
  runs.base_faults = 10 + kLeastFaultsOff;
  EXPECT_EQ(names(), "");
  runs.base_faults++;
  EXPECT_EQ(names(), "page_faults,");
}

TEST_F(DeviationTest, MissesWhereTheyWereCounted) {
  runs.base_tlb_misses = 1.1e7;
  EXPECT_EQ(names(), "tlb_misses,");
  analysis.tlb_misses_base.reset(); // an analysis without accesses
  EXPECT_EQ(names(), "");
}

TEST_F(DeviationTest, SavingsOfARunByTheirMeanOverInputs) {
  realised = {.share = 0.4, .predicted_seconds = 2, .measured_seconds = 0.8, .inputs = 2};
  const auto list = deviations(nullptr, runs, realised, 0, 0);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].what, "saved_seconds");
  EXPECT_EQ(list[0].measured, 0.4);
  EXPECT_EQ(list[0].predicted, 1);
  realised.inputs = 0; // nothing is known
  EXPECT_TRUE(deviations(nullptr, runs, realised, 0, 0).empty());
}

TEST_F(DeviationTest, DirectivesThatAreGivenUp) {
  given_up = 1;
  const auto list = deviations(nullptr, runs, realised, given_up, 3);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].measured, 2);
  EXPECT_EQ(list[0].predicted, 3);
}

TEST(AnalysisOfInput, IsTheLatestOfThatInput) {
  std::vector<Analysis> list(3);
  list[0].input = list[1].input = "a";
  list[0].created_ns = 2;
  list[1].created_ns = 1;
  list[2].input = "b";
  list[2].created_ns = 3;
  EXPECT_EQ(analysis_of_input(list, "a"), &list[0]);
  EXPECT_EQ(analysis_of_input(list, "c"), nullptr);
  list[2].input = "";
  EXPECT_EQ(analysis_of_input(list, ""), nullptr); // unknown is no input
}

} // namespace
} // namespace smalloc::database
