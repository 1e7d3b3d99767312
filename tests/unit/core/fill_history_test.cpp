// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fill_history_test.cpp tests which origins FillHistory trusts.
#include "smalloc/big/fill_history.h"

#include <gtest/gtest.h>

namespace smalloc {
namespace {
constexpr size_t kMiB = size_t{1} << 20;
int sites[600];

TEST(FillHistoryTest, TrustsAnOriginWhoseLastTwoObjectsWereFilled) {
  FillHistory h;
  const uint64_t key = FillHistory::key(&sites[0], 5 * kMiB);
  EXPECT_FALSE(h.trusts(key));
  h.filled(key, 2);
  EXPECT_FALSE(h.trusts(key));
  h.filled(key, 2);
  EXPECT_TRUE(h.trusts(key));
  EXPECT_FALSE(h.trusts(FillHistory::key(&sites[1], 5 * kMiB)));
  EXPECT_FALSE(h.trusts(0)); // no origin
}

TEST(FillHistoryTest, ALargeFilledObjectIsEnough) {
  FillHistory h;
  const uint64_t key = FillHistory::key(&sites[0], 512 * kMiB);
  h.filled(key, 256);
  EXPECT_TRUE(h.trusts(key));
}

TEST(FillHistoryTest, ASparseObjectResetsTheCount) {
  FillHistory h;
  const uint64_t key = FillHistory::key(&sites[0], 512 * kMiB);
  h.filled(key, 256);
  h.stayed_sparse(key);
  EXPECT_FALSE(h.trusts(key));
  h.filled(key, 2);
  EXPECT_FALSE(h.trusts(key));
  h.filled(key, 2);
  EXPECT_TRUE(h.trusts(key));
}

TEST(FillHistoryTest, AnotherSizeIsJudgedByFilledOnesOfHalfItsSizeAndMore) {
  FillHistory h;
  const auto of = [](size_t mib) { return FillHistory::key(&sites[0], mib * kMiB); };
  h.filled(of(5), 2);
  h.filled(of(5), 2);
  EXPECT_TRUE(h.trusts(of(3)));
  EXPECT_TRUE(h.trusts(of(12)));   // a vector that grows
  EXPECT_FALSE(h.trusts(of(300))); // a wrapper of malloc
  h.stayed_sparse(of(12));
  EXPECT_FALSE(h.trusts(of(12)));
  EXPECT_TRUE(h.knows_sparse(of(12)));
  EXPECT_TRUE(h.trusts(of(5)));
  EXPECT_FALSE(h.knows_sparse(of(5)));
}

/// An array that doubles has its next buffer before the present one is freed.
TEST(FillHistoryTest, ObjectsThatRiseInSizeSpeakForOneFourTimesAsLarge) {
  FillHistory rising, falling;
  const auto of = [](size_t mib) { return FillHistory::key(&sites[0], mib * kMiB); };
  rising.filled(of(2), 1);
  EXPECT_FALSE(rising.trusts(of(8)));
  rising.filled(of(4), 2);
  EXPECT_TRUE(rising.trusts(of(16)));
  EXPECT_FALSE(rising.trusts(of(32)));
  falling.filled(of(4), 2);
  falling.filled(of(2), 1);
  EXPECT_TRUE(falling.trusts(of(8)));
  EXPECT_FALSE(falling.trusts(of(16)));
}

TEST(FillHistoryTest, KeysOfManyOriginsDoNotSpeakForOthers) {
  FillHistory h;
  for (int &site : sites)
    for (int k = 0; k < 2; k++)
      h.filled(FillHistory::key(&site, 5 * kMiB), 2);
  int other[16];
  for (int &site : other)
    EXPECT_FALSE(h.trusts(FillHistory::key(&site, 5 * kMiB)));
}

} // namespace
} // namespace smalloc
