// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/core/fill_history.h"

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

TEST(FillHistoryTest, AnotherSizeIsJudgedByAllSizesUntilItHasItsOwn) {
  FillHistory h;
  const uint64_t small = FillHistory::key(&sites[0], 5 * kMiB),
                 large = FillHistory::key(&sites[0], 300 * kMiB);
  h.filled(small, 2);
  h.filled(small, 2);
  EXPECT_TRUE(h.trusts(large)); // a vector that grows
  h.stayed_sparse(large);
  EXPECT_FALSE(h.trusts(large));
  EXPECT_TRUE(h.trusts(small));
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
