// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reuse/histogram.h"

#include <gtest/gtest.h>

using smalloc::reuse::Histogram;

namespace {

TEST(Histogram, CountsExactlyWhereTlbsAre) {
  Histogram h;
  h.add(0);
  h.add(5, 2);
  h.add(131071);
  h.add_cold(4);
  EXPECT_EQ(h.total(), 8);
  EXPECT_EQ(h.at_least(0), 8);
  EXPECT_EQ(h.at_least(1), 7);
  EXPECT_EQ(h.at_least(5), 7);
  EXPECT_EQ(h.at_least(6), 5);
  EXPECT_EQ(h.at_least(131071), 5);
  EXPECT_EQ(h.at_least(131072), 4);
  EXPECT_EQ(h.at_least(1e18), 4);
}

TEST(Histogram, BinsAreContiguousAndNarrow) {
  Histogram h;
  h.add(uint64_t{1} << 40);
  uint64_t end = 0;
  for (size_t i = 0; i < h.bins(); i++) {
    const auto bin = h.bin(i);
    ASSERT_EQ(bin.low, end);
    ASSERT_LT(bin.low, bin.high);
    ASSERT_TRUE(bin.high - bin.low == 1 || (bin.high - bin.low) * 1000 < bin.low) << bin.low;
    end = bin.high;
  }
}

TEST(Histogram, EveryDistanceFallsIntoItsBin) {
  for (uint64_t distance = 1; distance < uint64_t{1} << 62; distance = distance * 5 / 3 + 1) {
    Histogram h;
    h.add(distance);
    bool found = false;
    for (size_t i = 0; i < h.bins(); i++)
      if (const auto bin = h.bin(i); bin.weight != 0)
        found = bin.low <= distance && distance < bin.high;
    ASSERT_TRUE(found) << distance;
  }
}

TEST(Histogram, TakesItsShareOfABin) {
  Histogram h;
  h.add(10, 4);
  EXPECT_DOUBLE_EQ(h.at_least(10.25), 3);
  Histogram wide;
  wide.add(uint64_t{1} << 20, 8); // a bin of 1024 distances
  EXPECT_DOUBLE_EQ(wide.at_least((1 << 20) + 512), 4);
}

TEST(Histogram, AddsAnother) {
  Histogram a, b;
  a.add(1);
  b.add(300000, 2);
  b.add_cold();
  a.add(b, 0.5);
  EXPECT_DOUBLE_EQ(a.total(), 2.5);
  EXPECT_DOUBLE_EQ(a.at_least(2), 1.5);
  EXPECT_DOUBLE_EQ(a.cold(), 0.5);
}

} // namespace
