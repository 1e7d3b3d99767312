// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// promoter_test.cpp tests the promotion of big objects on a fake clock: credit, pauses, sparse
// units, refusals, giving up.
#include "smalloc/big/big_objects.h"
#include "tests/unit/core/fake_os.h"

#include <gtest/gtest.h>

namespace smalloc {
namespace {
constexpr size_t kMiB = 1 << 20;
constexpr uint64_t kMs = 1000000;

struct PromoterTest : testing::Test {
  void SetUp() override {
    FakeOs::reset();
    Region::Config config = FakeOs::config();
    config.pending = &pending;
    FakeOs::make_page_fallback(page_fallback, counters);
    ASSERT_TRUE(region.init(config, counters) && big.init(region, page_fallback, {0}));
    BigRequest r;
    r.bytes = 64 * kMiB;
    object = static_cast<char *>(big.allocate(r));
    ASSERT_NE(object, nullptr);
  }
  void promote(uint64_t credit, uint64_t pause = 2 * kMs) {
    big.promote(big.find(object), price, credit, pause, false);
    ASSERT_TRUE(big.check_invariants());
  }
  unsigned pending = 0;
  char *object;
  Counters counters;
  Region region;
  PageFallback page_fallback;
  BigObjects big;
  Price price;
};

TEST_F(PromoterTest, NothingBeforeItIsPaid) {
  EXPECT_EQ(pending, 1u);
  promote(kMs);
  EXPECT_EQ(FakeOs::collapsed.size(), 0u);
  promote(kMs);
  EXPECT_EQ(FakeOs::collapsed.size(), 1u);
}
TEST_F(PromoterTest, CostNeverExceedsCreditByMoreThanOneCollapse) {
  uint64_t earned = 0, began = FakeOs::clock_ns;
  for (int i = 0; i < 200; i++) {
    FakeOs::collapse_cost_ns = (1 + i % 14) * kMs;
    earned += 700000;
    promote(700000);
    EXPECT_LE(FakeOs::clock_ns - began, earned + 14 * kMs);
  }
}
TEST_F(PromoterTest, PauseIsBoundedUnlessThisCallPays) {
  uint64_t began = FakeOs::clock_ns;
  promote(1000 * kMs);
  EXPECT_LE(FakeOs::clock_ns - began, 2 * kMs + FakeOs::collapse_cost_ns);
  promote(0, 1000 * kMs);
  EXPECT_EQ(FakeOs::collapsed.size(), 32u);
  EXPECT_EQ(pending, 0u);
  EXPECT_EQ(counters.promotions.get(), 32u);
}
TEST_F(PromoterTest, SparseUnitsStayAndAreAskedLessAndLessOften) {
  unsigned looks = 0;
  FakeOs::resident = [&](const char *) {
    looks++;
    return kPagesPerUnit * 9 / 10;
  };
  for (int i = 0; i < 5000 && pending; i++)
    promote(100 * kMs, 1000 * kMs);
  EXPECT_EQ(pending, 0u); // given up
  EXPECT_TRUE(FakeOs::collapsed.empty());
  EXPECT_LE(looks, 10u * 32u);
}
TEST_F(PromoterTest, DenseUnitsOfASparseObjectArePromoted) {
  FakeOs::resident = [&](const char *p) {
    return (p - object) / ptrdiff_t(kSuperpageBytes) < 4 ? kPagesPerUnit : 0;
  };
  for (int i = 0; i < 20; i++)
    promote(100 * kMs, 1000 * kMs);
  EXPECT_GE(FakeOs::collapsed.size(), 4u);
  EXPECT_LE(FakeOs::collapsed.size(), 5u);
}
TEST_F(PromoterTest, KernelShortOfMemoryIsNotPestered) {
  unsigned calls = 0;
  FakeOs::collapse_result = [&](char *) {
    calls++;
    return EAGAIN;
  };
  for (int i = 0; i < 100; i++)
    promote(100 * kMs, 1000 * kMs);
  EXPECT_LE(calls, 30u);
  EXPECT_EQ(counters.collapse_failures[kCollapseAgain].get(), calls);
  FakeOs::collapse_result = [](char *) { return 0; };
  for (int i = 0; i < 200; i++)
    promote(100 * kMs, 1000 * kMs);
  EXPECT_EQ(FakeOs::collapsed.size(), 32u);
}
TEST_F(PromoterTest, ReleasedObjectsAreNoLongerPending) {
  big.release(object);
  EXPECT_EQ(pending, 0u);
  EXPECT_FALSE(big.find(object));
  UnitIndex cursor = 0;
  EXPECT_FALSE(big.next_pending(cursor));
}
TEST_F(PromoterTest, PendingObjectsAreFoundInTurn) {
  BigRequest r;
  r.bytes = 5 * kMiB;
  void *second = big.allocate(r);
  UnitIndex cursor = 0;
  auto a = big.next_pending(cursor), b = big.next_pending(cursor), c = big.next_pending(cursor);
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(a.object, big.find(object).object);
  EXPECT_EQ(b.object, big.find(second).object);
  EXPECT_EQ(c.object, a.object);
}
} // namespace
} // namespace smalloc
