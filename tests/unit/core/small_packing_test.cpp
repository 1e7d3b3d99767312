// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// small_packing_test.cpp tests which size classes are filled before others grow, and that filling
// ends when 1 % of the time is used up.
#include "smalloc/small/small_packing.h"

#include <gtest/gtest.h>

namespace smalloc {
namespace {
constexpr uint64_t kMiB = 1 << 20, kSecond = 1000000000;

TEST(SmallPacking, FillsOnlyClassesWithRoom) {
  SmallPacking packing;
  const ClassCensus classes[] = {{95 * kMiB, 100 * kMiB}, {20 * kMiB, 100 * kMiB}, {0, 0}};
  packing.counted(classes, 3, 1 * kSecond);
  EXPECT_FALSE(packing.any()); // no time has been earned yet
  packing.counted(classes, 3, 2 * kSecond);
  EXPECT_FALSE(packing.wants(0));
  EXPECT_TRUE(packing.wants(1));
  EXPECT_FALSE(packing.wants(2));
  EXPECT_FALSE(packing.wants(SmallPacking::kMostClasses));
}

TEST(SmallPacking, LittleRoomIsLeftAlone) {
  SmallPacking packing;
  const ClassCensus small[] = {{1 * kMiB, 8 * kMiB}};     // 7 MiB of room
  const ClassCensus dense[] = {{915 * kMiB, 1000 * kMiB}, // 85 MiB, but 9 % of all
                               {5 * kMiB, 10 * kMiB}};
  packing.counted(dense, 2, 1 * kSecond);
  packing.counted(small, 1, 2 * kSecond);
  EXPECT_FALSE(packing.any());
  packing.counted(dense, 2, 3 * kSecond);
  EXPECT_FALSE(packing.any());
}

TEST(SmallPacking, EndsWhenFilled) {
  SmallPacking packing;
  const ClassCensus sparse[] = {{20 * kMiB, 100 * kMiB}}, full[] = {{20 * kMiB, 21 * kMiB}};
  packing.counted(sparse, 1, 1 * kSecond);
  packing.counted(sparse, 1, 2 * kSecond);
  ASSERT_TRUE(packing.any());
  packing.counted(full, 1, 3 * kSecond);
  EXPECT_FALSE(packing.any());
}

TEST(SmallPacking, CostsOnePercentOfTheTime) {
  SmallPacking packing;
  const ClassCensus sparse[] = {{20 * kMiB, 100 * kMiB}};
  packing.counted(sparse, 1, 1 * kSecond);
  uint64_t paid = 0, other = 0;
  for (uint64_t now = 2; now <= 11; now++) {
    packing.counted(sparse, 1, now * kSecond);
    for (; packing.any(); other++) {
      packing.pay(other % 3 != 0);
      paid += other % 3 ? SmallPacking::kPackedNs : SmallPacking::kOtherNs;
    }
  }
  EXPECT_GE(paid, 10 * kSecond / 100);
  EXPECT_LE(paid, 10 * kSecond / 100 + 10 * SmallPacking::kPackedNs);
  EXPECT_EQ(packing.packed_objects(), other - (other + 2) / 3);
}

TEST(SmallPacking, CountsOnceASecond) {
  SmallPacking packing;
  EXPECT_TRUE(packing.due(5 * kSecond));
  EXPECT_FALSE(packing.due(6 * kSecond - 1));
  EXPECT_TRUE(packing.due(6 * kSecond));
}

} // namespace
} // namespace smalloc
