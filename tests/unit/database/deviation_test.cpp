// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests when runs call for another recording: each figure alone, by more than twice, beyond what a
// program's start explains. Unknown figures never do.
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
    runs.base_peak_bytes = 101000 * 4096;
  }
  /// Returns the deviations' names, each with a comma behind it.
  std::string names(bool of_this_machine = true) const {
    std::string text;
    for (const Deviation &d : deviations(&analysis, runs, of_this_machine))
      text += d.what + ",";
    return text;
  }
  Analysis analysis;
  Judgement runs;
};

TEST_F(DeviationTest, WhatWasPredictedIsNone) {
  EXPECT_EQ(names(), "");
  runs.base_tlb_misses = 9.9e6;
  EXPECT_EQ(names(), "");
  EXPECT_TRUE(deviations(nullptr, runs, true).empty());
}

TEST_F(DeviationTest, PageFaultsByMoreThanTwice) {
  runs.base_peak_bytes = 49000 * 4096;
  for (const double faults : {201000.0, 49000.0}) {
    runs.base_faults = faults;
    EXPECT_EQ(names(), "page_faults,");
  }
  runs.base_faults.reset(); // no run was on base pages, or its faults are unknown
  EXPECT_EQ(names(), "");
}

TEST_F(DeviationTest, AProgramsStartIsNone) {
  analysis.page_faults_base = 10;
  runs.base_peak_bytes = 0;
  runs.base_faults = 10 + kLeastFaultsOff;
  EXPECT_EQ(names(), "");
  runs.base_faults = 11 + kLeastFaultsOff;
  EXPECT_EQ(names(), "page_faults,");
}

// If the kernel gives superpages to every process, base runs have the faults and misses of
// superpages.
TEST_F(DeviationTest, BaseRunsOnSuperpagesSayNothing) {
  runs.base_faults = 300;
  runs.base_tlb_misses = 10;
  EXPECT_EQ(names(), "");
}

TEST_F(DeviationTest, MissesWhereTheyWereCounted) {
  runs.base_tlb_misses = 1.1e7;
  EXPECT_EQ(names(), "tlb_misses,");
  EXPECT_EQ(names(false), "");      // another TLB's misses differ
  analysis.tlb_misses_base.reset(); // an analysis without accesses
  EXPECT_EQ(names(), "");
}

TEST(AnalysisOfInput, IsTheLatestOfThatInputThatPredicts) {
  std::vector<Analysis> list(4);
  list[0].input = list[1].input = list[3].input = "a";
  list[0].created_ns = 2;
  list[1].created_ns = 1;
  list[2].input = "b";
  list[2].created_ns = 3;
  list[3].created_ns = 4; // of a build without a prediction
  for (int i = 0; i < 3; i++)
    list[i].page_faults_base = 1;
  EXPECT_EQ(analysis_of_input(list, "a"), &list[0]);
  EXPECT_EQ(analysis_of_input(list, "c"), nullptr);
  list[2].input = "";
  EXPECT_EQ(analysis_of_input(list, ""), nullptr); // an unknown input is none
}

TEST(GivenUpSince, AsksOnceAndForRunsSinceTheAnalysis) {
  std::vector<Analysis> analyses(1);
  std::vector<database::Run> runs(1);
  analyses[0].created_ns = 10;
  runs[0].started_ns = 11;
  runs[0].validations = {{"0000000000000001", "", true, 4, 0, 0, "failed"},
                         {"0000000000000002", "", true, 4, 0, 0, "failed"}};
  directives::File file;
  for (const uint64_t site : {1, 2, 3}) {
    directives::Entry e;
    e.page_shift = site == 3 ? 12 : 21;
    e.validated = 3;
    e.held = site == 1 ? 1 : 2;
    file.entries[{site, false, 0}] = e;
  }
  const auto off = given_up_since(analyses, runs, file);
  ASSERT_TRUE(off.has_value());
  EXPECT_EQ(off->measured, 1);
  EXPECT_EQ(off->predicted, 2);
  analyses[0].created_ns = 12; // the program was analysed again
  EXPECT_FALSE(given_up_since(analyses, runs, file).has_value());
  file.entries.begin()->second.held = 3;
  EXPECT_FALSE(given_up_since({}, runs, file).has_value());
}

} // namespace
} // namespace smalloc::database
