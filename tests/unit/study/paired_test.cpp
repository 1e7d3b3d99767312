// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interval of paired runs: against values computed by hand, and the cases that claim nothing.
#include "runtime/study/paired.h"

#include <cmath>

#include <gtest/gtest.h>

namespace smalloc::study {
namespace {

TEST(Paired, IntervalIsStudents) {
  // log ratios ln 2 - 0.01, ln 2, ln 2 + 0.01: mean ln 2, deviation 0.01,
  // half width 4.303 * 0.01 / sqrt 3.
  const double before[] = {2 * std::exp(-0.01), 2, 2 * std::exp(0.01)}, after[] = {1, 1, 1};
  const PairedChange c = paired_change(before, after, 1e-3);
  EXPECT_EQ(c.pairs, 3u);
  EXPECT_NEAR(c.ratio, 2, 1e-9);
  const double half = 4.303 * 0.01 / std::sqrt(3.0);
  EXPECT_NEAR(c.low, 2 * std::exp(-half), 1e-9);
  EXPECT_NEAR(c.high, 2 * std::exp(half), 1e-9);
  EXPECT_TRUE(c.clear);
  EXPECT_EQ(c.before, 2);
  EXPECT_EQ(c.after, 1);
}

TEST(Paired, DifferenceBelowTheSpreadIsNotClear) {
  const double before[] = {1.0, 1.3, 0.9}, after[] = {0.95, 1.1, 1.0};
  const PairedChange c = paired_change(before, after, 1e-3);
  EXPECT_FALSE(c.clear);
  EXPECT_LT(c.low, 1);
  EXPECT_GT(c.high, 1);
}

TEST(Paired, DriftOfTheMachineCancelsOut) {
  // Each pair runs at half the speed of the one before it; within a pair the ratio is 1.25 or so.
  const double before[] = {1.25, 2.5, 5.05}, after[] = {1, 2.01, 4};
  EXPECT_TRUE(paired_change(before, after, 1e-3).clear);
}

TEST(Paired, FewPairsClaimNothing) {
  const double before[] = {4, 4}, after[] = {1, 1};
  EXPECT_FALSE(paired_change(before, after, 1e-3).clear);
  const PairedChange one = paired_change({before, 1}, {after, 1}, 1e-3);
  EXPECT_FALSE(one.clear);
  EXPECT_NEAR(one.ratio, 4, 1e-9);
  EXPECT_EQ(one.low, one.high);
  EXPECT_EQ(paired_change({}, {}, 1).pairs, 0u);
}

TEST(Paired, TinyChangesAndUnmeasurableValuesAreNoDifference) {
  const double before[] = {1.004, 1.004, 1.004}, after[] = {1, 1, 1};
  EXPECT_FALSE(paired_change(before, after, 1e-3).clear); // below kLeastChange, though exact
  const double ticks[] = {0.004, 0, 0.008}, other[] = {0, 0, 0};
  const PairedChange c = paired_change(ticks, other, 0.01);
  EXPECT_EQ(c.ratio, 1);
  EXPECT_FALSE(c.clear);
}

TEST(Paired, StudentsFactorFallsToTheNormals) {
  EXPECT_NEAR(student_t95(1), 12.706, 1e-3);
  EXPECT_NEAR(student_t95(2), 4.303, 1e-3);
  EXPECT_NEAR(student_t95(11), 2.201, 3e-3);
  EXPECT_NEAR(student_t95(30), 2.042, 1e-3);
  EXPECT_NEAR(student_t95(1000), 1.962, 1e-3);
}

} // namespace
} // namespace smalloc::study
