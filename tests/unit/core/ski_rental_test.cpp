// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ski_rental_test.cpp tests the cost limits of promotions on a scripted clock.
#include "smalloc/pages/ski_rental.h"

#include <gtest/gtest.h>

namespace smalloc {
namespace {
TEST(WalkCost, GrowsFromNearToFar) {
  WalkCost w; // 35..89, reach 8 MiB
  EXPECT_EQ(w.cycles(1), 35u);
  EXPECT_EQ(w.cycles(32 << 20), 35u);
  EXPECT_EQ(w.cycles(size_t{2} << 30), 89u);
  unsigned last = 0;
  for (size_t b = 1 << 20; b <= size_t{1} << 36; b *= 2) {
    EXPECT_GE(w.cycles(b), last);
    last = w.cycles(b);
  }
  EXPECT_EQ(w.nanoseconds(3, 1), 35u);
  EXPECT_GT(w.nanoseconds(UINT64_MAX, size_t{1} << 40), uint64_t{1} << 50); // no overflow
}
TEST(Ledger, PaysOnlyWhatWasEarned) {
  Ledger l;
  EXPECT_FALSE(l.covers(1));
  l.earn(100);
  EXPECT_TRUE(l.covers(100));
  EXPECT_FALSE(l.covers(101));
  l.pay(150); // a collapse that cost more than expected
  EXPECT_EQ(l.credit_ns(), -50);
  l.earn(49);
  EXPECT_FALSE(l.covers(0));
  l.earn(1);
  EXPECT_TRUE(l.covers(0));
  for (int i = 0; i < 40; i++)
    l.earn(UINT64_MAX);
  EXPECT_TRUE(l.covers(Ledger::kMostCreditNs));
}
TEST(Price, FollowsWhatCollapsesCost) {
  Price p;
  EXPECT_EQ(p.ns(), Ledger::kStartPriceNs);
  for (int i = 0; i < 60; i++)
    p.measured(14500000);
  EXPECT_NEAR(static_cast<double>(p.ns()), 14.5e6, 1e4);
  for (int i = 0; i < 60; i++)
    p.measured(500000);
  EXPECT_NEAR(static_cast<double>(p.ns()), 0.5e6, 1e3);
}
} // namespace
} // namespace smalloc
