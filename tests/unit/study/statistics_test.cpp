// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// statistics_test.cpp tests when a difference is significant, on series with a known answer.
#include "runtime/study/statistics.h"

#include <random>

#include <gtest/gtest.h>

namespace smalloc::study {
namespace {

std::vector<double> series(std::mt19937_64 &random, size_t runs, double mean, double deviation) {
  std::normal_distribution<double> gauss(mean, deviation);
  std::vector<double> values(runs);
  for (double &v : values)
    v = gauss(random);
  return values;
}

TEST(Statistics, SummarizesRobustly) {
  const Summary s = summarize({10, 11, 12, 13, 1000});
  EXPECT_EQ(s.median, 12);
  EXPECT_EQ(s.low, 10);
  EXPECT_EQ(s.high, 1000);
  EXPECT_NEAR(s.deviation, 1.4826, 1e-9); // one outlier has no effect
  EXPECT_EQ(summarize({}).runs, 0u);
  EXPECT_EQ(summarize({4, 2}).median, 3);
}

TEST(Statistics, DeviationIsThatOfANormalSeries) {
  std::mt19937_64 random(1);
  EXPECT_NEAR(summarize(series(random, 20000, 5, 0.3)).deviation, 0.3, 0.01);
}

TEST(Statistics, SeesAClearDifference) {
  const Comparison c =
      compare(summarize({10.0, 10.1, 10.2, 9.9, 10.0}), summarize({8.0, 8.1, 8.2, 7.9, 8.0}));
  EXPECT_NEAR(c.speedup, 1.25, 1e-9);
  EXPECT_FALSE(c.below_noise);
  ASSERT_TRUE(c.repeats_needed);
  EXPECT_EQ(*c.repeats_needed, 3u);
}

TEST(Statistics, SaysHowManyRepeatsItTakes) {
  // 1 % apart with 5 % spread on both sides: (1.2533 * 2.8 / 0.01)^2 * 2 * 0.05^2 = 615.7.
  Summary base, other;
  base.runs = other.runs = 5;
  base.median = 1;
  other.median = 0.99;
  base.deviation = other.deviation = 0.05;
  const Comparison c = compare(base, other);
  EXPECT_TRUE(c.below_noise);
  ASSERT_TRUE(c.repeats_needed);
  EXPECT_NEAR(static_cast<double>(*c.repeats_needed), 616, 1);
}

TEST(Statistics, KnowsNothingFromOneRun) {
  const Comparison c = compare(summarize({10}), summarize({5}));
  EXPECT_EQ(c.speedup, 2);
  EXPECT_TRUE(c.below_noise);
  EXPECT_FALSE(c.repeats_needed);
  EXPECT_TRUE(compare(summarize({0, 0, 0}), summarize({1, 1, 1})).below_noise);
  EXPECT_TRUE(compare(summarize({2, 2, 2}), summarize({2, 2, 2})).below_noise);
}

// Two runs show no spread, however noisy the program is.
TEST(Statistics, KnowsNoSpreadFromTwoRuns) {
  const Summary slow = summarize({10, 10, 10}), fast = summarize({5, 5, 5});
  for (const auto &c : {compare(summarize({10, 10}), fast), compare(slow, summarize({5, 5}))}) {
    EXPECT_TRUE(c.below_noise);
    EXPECT_FALSE(c.repeats_needed);
  }
  EXPECT_FALSE(compare(slow, fast).below_noise);
}

// The proposed repeats do make the difference significant, and equal series count as equal.
TEST(Statistics, KeepsItsPromises) {
  std::mt19937_64 random(7);
  int missed = 0, false_alarms = 0;
  Summary base, other;
  base.runs = other.runs = 5;
  base.median = 1;
  other.median = 0.97;
  base.deviation = other.deviation = 0.03;
  const size_t runs = *compare(base, other).repeats_needed;
  for (int i = 0; i < 200; i++) {
    missed += compare(summarize(series(random, runs, 1, 0.03)),
                      summarize(series(random, runs, 0.97, 0.03)))
                  .below_noise;
    false_alarms +=
        !compare(summarize(series(random, runs, 1, 0.03)), summarize(series(random, runs, 1, 0.03)))
             .below_noise;
  }
  EXPECT_LT(missed, 70);       // 20 % by design, more if few runs make the spread uncertain
  EXPECT_LT(false_alarms, 40); // 5 % by design
}

TEST(Statistics, GeometricMean) {
  EXPECT_NEAR(geometric_mean(std::vector<double>{2, 8}), 4, 1e-12);
  EXPECT_EQ(geometric_mean({}), 1);
}

} // namespace
} // namespace smalloc::study
