// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// curve_test.cpp tests the knees of synthetic curves and of one recorded on a Zen 4 guest on a
// loaded host (4 KiB backing; translation cycles against pages, minimum of 41 repeats per point).
#include "runtime/measure/curve.h"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smalloc::calibrate {
namespace {

const std::vector<Point> kRecorded = {
    {16, 0.00},    {17, 0.00},    {19, 0.01},    {20, 0.00},    {21, 0.00},    {22, 0.01},
    {24, 0.00},    {25, 0.00},    {27, 0.00},    {28, 0.00},    {30, 0.00},    {32, 0.00},
    {34, 0.00},    {36, 0.00},    {38, -0.01},   {40, 0.00},    {43, 0.00},    {45, 0.00},
    {48, 0.00},    {51, 0.00},    {54, 0.00},    {57, 0.00},    {61, 0.00},    {64, 0.00},
    {68, 0.00},    {72, 0.03},    {77, 5.08},    {81, 6.97},    {86, 6.97},    {91, 6.97},
    {97, 6.97},    {103, 6.97},   {109, 6.97},   {116, 6.97},   {122, 6.97},   {130, 6.97},
    {138, 6.96},   {146, 6.98},   {155, 6.96},   {164, 6.97},   {174, 6.97},   {184, 6.97},
    {196, 6.97},   {207, 6.97},   {220, 6.97},   {233, 6.97},   {247, 6.98},   {262, 6.97},
    {278, 6.97},   {294, 6.97},   {312, 6.97},   {331, 6.97},   {351, 6.98},   {372, 6.97},
    {394, 6.97},   {418, 6.97},   {443, 6.97},   {469, 6.95},   {497, 6.94},   {527, 7.09},
    {559, 8.00},   {593, 7.94},   {628, 8.01},   {666, 7.92},   {706, 7.95},   {748, 7.94},
    {793, 7.95},   {841, 7.95},   {891, 7.93},   {945, 7.92},   {1001, 7.93},  {1062, 7.93},
    {1125, 7.90},  {1193, 7.95},  {1264, 7.93},  {1340, 7.92},  {1421, 7.93},  {1506, 7.92},
    {1596, 7.90},  {1692, 7.93},  {1794, 7.93},  {1901, 7.93},  {2016, 7.92},  {2137, 7.97},
    {2265, 8.14},  {2401, 9.35},  {2545, 13.59}, {2697, 15.02}, {2859, 17.05}, {3031, 23.95},
    {3213, 30.82}, {3406, 35.89}, {3610, 40.29}, {3827, 45.20}, {4056, 49.99}, {4300, 52.40},
    {4558, 53.46}, {4831, 55.15}, {5121, 55.85}, {5428, 56.70}, {5754, 57.29}, {6099, 58.10},
    {6465, 59.19}, {6853, 60.78}, {7265, 61.75}, {7700, 63.87}, {8162, 67.41},
};

std::vector<Point> steps(std::mt19937_64 &random, double noise, uint64_t l1, uint64_t l2) {
  std::normal_distribution<double> gauss(0, noise);
  std::vector<Point> curve;
  for (uint64_t pages : page_grid(8, 8192, 1.06)) {
    const double cost =
        pages <= l1   ? 0
        : pages <= l2 ? 7
                      : 30 + 5 * std::log2(static_cast<double>(pages) / static_cast<double>(l2));
    curve.push_back({pages, cost + gauss(random)});
  }
  return curve;
}

TEST(Curve, MedianOfThreeDropsASingleOutlier) {
  const std::vector<double> values{1, 9, 1, 1, -5, 1, 2};
  EXPECT_THAT(median_of_three(values), testing::ElementsAre(1, 1, 1, 1, 1, 1, 2));
}

TEST(Curve, IsotonicPoolsViolators) {
  EXPECT_THAT(isotonic(std::vector<double>{1, 3, 2, 4}), testing::ElementsAre(1, 2.5, 2.5, 4));
  EXPECT_THAT(isotonic(std::vector<double>{3, 2, 1}), testing::ElementsAre(2, 2, 2));
  std::mt19937_64 random(3);
  std::vector<double> noise(500);
  double sum = 0, after = 0;
  for (double &v : noise)
    sum += v = static_cast<double>(random() % 1000);
  const auto fitted = isotonic(noise);
  for (double v : fitted)
    after += v;
  EXPECT_TRUE(std::is_sorted(fitted.begin(), fitted.end()));
  EXPECT_NEAR(after, sum, 1e-6); // the mean is unchanged
}

TEST(Curve, MedianOfEvenAndOddCounts) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(Curve, FindsBothKneesOfTheRecordedGuest) {
  const auto curve = smooth(kRecorded);
  const auto first = find_knee(curve, 0, scatter(kRecorded, curve));
  ASSERT_TRUE(first);
  EXPECT_LE(curve[first->last_flat].pages, 72u); // the core has 72 entries
  EXPECT_GT(curve[first->first_risen].pages, 72u);
  const auto second = find_knee(curve, index_of(curve, 72 * kKneeWindow), 0);
  ASSERT_TRUE(second);
  EXPECT_GE(curve[second->last_flat].pages, 2048u);
  EXPECT_LE(curve[second->last_flat].pages, 2600u);
  // The rest is a walk whose cost grows slowly, not a third level.
  EXPECT_FALSE(find_knee(curve, index_of(curve, 5000), 0));
}

TEST(Curve, FindsKneesUnderNoiseAndNoneInNoise) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 50; i++) {
    const uint64_t l1 = 16 + random() % 200, l2 = 1024 + random() % 3000;
    const auto raw = steps(random, 0.3, l1, l2);
    const auto curve = smooth(raw);
    const double noise = scatter(raw, curve);
    const auto first = find_knee(curve, 0, noise);
    ASSERT_TRUE(first) << l1;
    EXPECT_LE(curve[first->last_flat].pages, l1 * 1.07) << l1;
    EXPECT_GE(static_cast<double>(curve[first->first_risen].pages), static_cast<double>(l1) / 1.13)
        << l1;
    const auto second =
        find_knee(curve, index_of(curve, kKneeWindow * static_cast<double>(l1)), noise);
    ASSERT_TRUE(second) << l2;
    EXPECT_NEAR(static_cast<double>(curve[second->last_flat].pages), static_cast<double>(l2),
                0.08 * static_cast<double>(l2));
    const auto flat = steps(random, 0.3, 100000, 100000);
    EXPECT_FALSE(find_knee(smooth(flat), 0, 0.3));
  }
}

TEST(Curve, ASlowRiseIsNoKnee) {
  std::vector<Point> curve;
  for (uint64_t pages : page_grid(8, 65536, 1.06))
    curve.push_back({pages, 20 + 5 * std::log2(static_cast<double>(pages))});
  EXPECT_FALSE(find_knee(curve, 0, 0));
}

TEST(Curve, InterpolatesInTheLogarithm) {
  const std::vector<Point> curve{{100, 10}, {400, 20}};
  EXPECT_EQ(cycles_at(curve, 50), 10);
  EXPECT_NEAR(cycles_at(curve, 200), 15, 1e-9);
  EXPECT_EQ(cycles_at(curve, 4000), 20);
  EXPECT_EQ(cycles_at({}, 5), 0);
}

TEST(Curve, GridIsAscendingAndEndsAtTheLast) {
  const auto grid = page_grid(8, 1000, 1.06);
  EXPECT_EQ(grid.front(), 8u);
  EXPECT_EQ(grid.back(), 1000u);
  for (size_t i = 1; i < grid.size(); i++)
    EXPECT_GT(grid[i], grid[i - 1]);
}

} // namespace
} // namespace smalloc::calibrate
