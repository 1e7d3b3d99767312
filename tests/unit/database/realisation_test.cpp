// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests what runs show about predictions: from enough runs of the same input, host and machine
// profile, and as far as they are sure.
#include "runtime/database/realisation.h"

#include <gtest/gtest.h>

namespace smalloc::database {
namespace {

struct RealisationTest : testing::Test {
  void analysed(double saved_seconds, const char *input = "1", const char *machine = "zen4") {
    Analysis a;
    a.input = input;
    a.machine = machine;
    a.saved_seconds = saved_seconds;
    a.created_ns = ++now_;
    analyses.push_back(a);
  }
  void ran(const char *kind, std::initializer_list<double> seconds, const char *input = "1",
           const char *verdict = "held", const char *host = "h") {
    for (double s : seconds) {
      database::Run run;
      run.kind = kind;
      run.host = host;
      run.input = input;
      run.user_seconds = s - 0.25;
      run.system_seconds = 0.25;
      run.started_ns = ++now_;
      if (run.kind == "superpages") {
        run.policy = "same-input";
        run.validations = {{"a", "", false, 0, 0, 0, "not-taken"},
                           {"b", "", true, 4, 4, 8, verdict}};
      }
      runs.push_back(run);
    }
  }
  Realisation now() const { return realise(analyses, runs, "h", "zen4"); }

  std::vector<Analysis> analyses;
  std::vector<database::Run> runs;
  int64_t now_ = 0;
};

TEST_F(RealisationTest, NothingIsLearnedBeforeThreeRunsOfEach) {
  analysed(0.5);
  ran("base", {2, 2, 2});
  ran("superpages", {1.7, 1.7});
  EXPECT_FALSE(now().known());
  EXPECT_EQ(now().share, 1);
  ran("superpages", {1.7});
  EXPECT_TRUE(now().known());
  EXPECT_NEAR(now().share, 0.6, 1e-9); // all agree
  EXPECT_NEAR(now().measured_seconds, 0.3, 1e-9);
  EXPECT_EQ(now().predicted_seconds, 0.5);
  EXPECT_EQ(now().superpage_runs, 3u);
}

TEST_F(RealisationTest, OthersOnlyEverMakeARunLonger) {
  analysed(0.5);
  ran("base", {2, 2, 9});
  ran("superpages", {1.75, 1.75, 8});
  EXPECT_NEAR(now().share, 0.5, 1e-9);
}

TEST_F(RealisationTest, WhatTheRunsLeaveOpenDrawsItTowardsOne) {
  analysed(0.4);
  ran("base", {2, 2.1, 2.2});
  ran("superpages", {1.8, 1.8, 1.8}); // 0.2 of 0.4 saved; 0.1 is open, and 0.1 was open before any
                                      // run
  EXPECT_NEAR(now().share, 0.75, 1e-9);
}

TEST_F(RealisationTest, OnlyWhatWasPredictedCounts) {
  analysed(0.5);
  ran("base", {2, 2, 2});
  ran("base", {1, 1, 1}, "2");
  ran("base", {1, 1, 1}, "1", "", "other");
  ran("superpages", {1, 1, 1}, "2");          // without an analysis
  ran("superpages", {1, 1, 1}, "1", "short"); // lacked the chosen superpages
  ran("superpages", {1, 1, 1}, "1", "failed");
  ran("superpages", {1, 1, 1}, "1", "not-taken");
  ran("superpages", {1, 1, 1}, "1", "held", "other");
  EXPECT_FALSE(now().known());
  analysed(0.5, "1", "zen5"); // by another profile
  ran("superpages", {1, 1, 1});
  EXPECT_FALSE(now().known());
  analysed(0);
  ran("superpages", {1, 1, 1});
  EXPECT_FALSE(now().known());
}

TEST_F(RealisationTest, ARunIsOfTheAnalysisBeforeIt) {
  ran("base", {2, 2, 2});
  analysed(1);
  ran("superpages", {1.5, 1.5, 1.5});
  analysed(0.5); // again: the result stays until there are more runs
  EXPECT_NEAR(now().share, 0.5, 1e-9);
  ran("superpages", {1.5, 1.5, 1.5});
  EXPECT_NEAR(now().share, 1, 1e-9);
}

TEST_F(RealisationTest, InputsAreSummed) {
  analysed(0.5);
  ran("base", {2, 2, 2});
  ran("superpages", {1.75, 1.75, 1.75});
  analysed(1.5, "2");
  ran("base", {8, 8, 8}, "2");
  ran("superpages", {6.25, 6.25, 6.25}, "2");
  EXPECT_EQ(now().inputs, 2u);
  EXPECT_NEAR(now().share, 1, 1e-9);
}

TEST_F(RealisationTest, ALossIsNoSavingAndAWonderIsBounded) {
  analysed(0.5);
  ran("base", {2, 2, 2});
  ran("superpages", {3, 3, 3});
  EXPECT_EQ(now().share, 0);
  analysed(0.01);
  ran("superpages", {1, 1, 1});
  EXPECT_EQ(now().share, 4);
}

} // namespace
} // namespace smalloc::database
