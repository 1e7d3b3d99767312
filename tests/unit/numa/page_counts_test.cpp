// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/numa/migration_policy.h"
#include "smalloc/numa/page_counts.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace smalloc::numa {

TEST(PageCounts, StartWithoutHomeAndWithoutUsers) {
  PageCounts page;
  EXPECT_EQ(page.home(), kNoNode);
  EXPECT_EQ(page.dominant(), kNoNode);
  EXPECT_EQ(page.total(), 0u);
  EXPECT_EQ(page.frozen(), 0u);
}

TEST(PageCounts, AreExactForFourNodesWhateverTheirNumbers) {
  PageCounts page;
  const std::map<uint8_t, unsigned> want = {{0, 7}, {62, 40}, {13, 2}, {31, 39}};
  for (auto [node, times] : want)
    for (unsigned i = 0; i < times; i++)
      page.add(node);
  for (auto [node, times] : want)
    EXPECT_EQ(page.count(node), times) << unsigned{node};
  EXPECT_EQ(page.dominant(), 62);
  EXPECT_EQ(page.count(5), 0u);
}

TEST(PageCounts, HomeAndFreezeDoNotDisturbEachOther) {
  PageCounts page;
  page.set_home(62);
  page.freeze(3);
  EXPECT_EQ(page.home(), 62);
  page.set_home(1);
  EXPECT_EQ(page.frozen(), 3u);
  page.thaw();
  EXPECT_EQ(page.frozen(), 2u);
  EXPECT_EQ(page.home(), 1);
  page.freeze(9);
  EXPECT_EQ(page.frozen(), 3u);
}

// Tests Space-Saving's two guarantees on a random stream of eight nodes. The counts sum up to the
// stream, and a node with more than a quarter is among them and never undercounted.
TEST(PageCounts, KeepWhoeverHasMoreThanAQuarterOfManyNodes) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; round++) {
    PageCounts page;
    std::map<uint8_t, unsigned> exact;
    for (int i = 0; i < 1000; i++) {
      uint8_t node = random() % 10 < 4 ? 5 : static_cast<uint8_t>(random() % 8);
      exact[node]++;
      page.add(node);
    }
    EXPECT_EQ(page.total(), 1000u);
    EXPECT_GE(page.count(5), exact[5]);
    EXPECT_EQ(page.dominant(), 5);
  }
}

TEST(PageCounts, SaturateTogetherSoThatSharesSurvive) {
  PageCounts page;
  for (int i = 0; i < 90000; i++) {
    page.add(1);
    if (i % 3 == 0)
      page.add(2);
  }
  EXPECT_EQ(page.dominant(), 1);
  EXPECT_NEAR(page.count(2) / double(page.count(1)), 1.0 / 3, 0.01);
}

TEST(PageCounts, AgeByTheShareAsked) {
  PageCounts page;
  for (int i = 0; i < 100; i++)
    page.add(3);
  page.age(128);
  EXPECT_EQ(page.count(3), 50u);
  page.age(0);
  EXPECT_EQ(page.total(), 0u);
}

TEST(PageCounts, CostLessThanThreePerMilleOfWhatTheyDescribe) {
  EXPECT_LE(sizeof(Unit), size_t{3} * kSuperpageBytes / 1000);
}

} // namespace smalloc::numa
