// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/benefit/missed_distances.h"

#include <gtest/gtest.h>

using smalloc::benefit::MissedDistances;

namespace {

TEST(MissedDistances, EachDistanceIsInItsBin) {
  for (uint64_t distance = 0; distance < 70000; distance += 1 + distance / 1000) {
    MissedDistances d;
    d.add(distance);
    d.add(distance);
    const MissedDistances::Bin bin = d.bin(d.bins() - 1);
    ASSERT_EQ(bin.count, 2);
    ASSERT_LE(bin.low, static_cast<double>(distance));
    ASSERT_GT(bin.high, static_cast<double>(distance));
    ASSERT_LE(bin.high - bin.low, 1 + static_cast<double>(distance) / 64);
  }
}

TEST(MissedDistances, BinsFollowEachOther) {
  MissedDistances d;
  d.add(uint64_t{1} << 40);
  double last = 0;
  for (size_t i = 0; i < d.bins(); i++) {
    ASSERT_EQ(d.bin(i).low, last);
    last = d.bin(i).high;
    ASSERT_TRUE(i >= 128 || last == static_cast<double>(i) + 1) << i;
  }
  EXPECT_LT(d.bins(), 2500u);
}

} // namespace
