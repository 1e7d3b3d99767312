// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mapped_ranges_test.cpp tests memory that the program maps itself: advice at first touch,
// collapses at promotion points, and ranges that are unmapped.
#include "smalloc/pages/mapped_ranges.h"
#include "tests/unit/core/fake_os.h"

#include <gtest/gtest.h>

namespace smalloc {
namespace {
constexpr size_t kMiB = 1 << 20;
constexpr uint64_t kMs = 1000000;

struct MappedRangesTest : testing::Test {
  void SetUp() override {
    FakeOs::reset();
    config.os = &FakeOs::hooks();
    config.pending = &pending;
    ranges.init(config, counters);
  }
  void touch(const void *p, uint64_t credit, uint64_t pause = 2 * kMs) {
    const auto worth = [](size_t, void *data) { return *static_cast<uint64_t *>(data); };
    ranges.touched(p, {worth, &credit}, price, pause, false);
  }
  /// Sets a budget of `bytes` bytes (0: none), with `before` superpages charged already.
  void charge_to(uint64_t bytes, uint64_t before) {
    Region::Config limits;
    limits.os = &FakeOs::hooks();
    limits.bytes = size_t{1} << 30;
    limits.budget.bytes = bytes;
    limits.charged_before = before;
    ASSERT_TRUE(region.init(limits, counters));
    config.budget = &region;
    ranges.init(config, counters);
  }
  static char *at(size_t mib) { return reinterpret_cast<char *>((size_t{1} << 40) + mib * kMiB); }
  unsigned pending = 0;
  MappedRanges::Config config;
  Counters counters;
  Price price;
  Region region;
  MappedRanges ranges;
};

TEST_F(MappedRangesTest, WrittenMemoryIsAdvisedOnce) {
  ranges.born(at(1), 64 * kMiB, true);
  EXPECT_EQ(FakeOs::advices, 1u);
  EXPECT_EQ(counters.mapped_superpages_advised.get(),
            31u); // from 2 to 64 MiB: whole superpages only
  EXPECT_EQ(pending, 0u);
  EXPECT_FALSE(ranges.any());
}
TEST_F(MappedRangesTest, LessThanASuperpageIsNothing) {
  ranges.born(at(1), 2 * kMiB, true);
  ranges.born(at(8), 2 * kMiB - 1, false);
  EXPECT_EQ(FakeOs::advices, 0u);
  EXPECT_EQ(pending, 0u);
}
TEST_F(MappedRangesTest, OtherMemoryWaitsUntilItIsPaid) {
  ranges.born(at(0), 8 * kMiB, false);
  EXPECT_EQ(FakeOs::advices, 0u);
  EXPECT_EQ(pending, 1u);
  touch(at(3), kMs);
  EXPECT_EQ(FakeOs::collapsed.size(), 0u);
  touch(at(3), kMs);
  EXPECT_EQ(FakeOs::collapsed.size(), 1u);
  touch(at(100), 1000 * kMs); // not in the range
  EXPECT_EQ(FakeOs::collapsed.size(), 1u);
  touch(at(0), 1000 * kMs);
  EXPECT_EQ(FakeOs::collapsed.size(), 4u);
  EXPECT_EQ(counters.mapped_superpages_promoted.get(), 4u);
  EXPECT_EQ(pending, 0u);
}
TEST_F(MappedRangesTest, SparseUnitsStayAndTheRangeIsForgotten) {
  FakeOs::resident = [](const char *p) { return p == at(2) ? kPagesPerUnit : size_t{1}; };
  ranges.born(at(0), 8 * kMiB, false);
  for (int i = 0; i < 100 && pending; i++)
    touch(at(0), 1000 * kMs);
  EXPECT_EQ(FakeOs::collapsed.size(), 1u);
  EXPECT_EQ(counters.mapped_superpages_promoted.get(), 1u); // once, however often it is examined
  EXPECT_EQ(pending, 0u);
  EXPECT_FALSE(ranges.any());
}
TEST_F(MappedRangesTest, RefusalsEndIt) {
  FakeOs::collapse_result = [](char *) { return EINVAL; };
  ranges.born(at(0), 64 * kMiB, false);
  for (int i = 0; i < 100 && pending; i++)
    touch(at(0), 1000 * kMs);
  EXPECT_EQ(pending, 0u);
}
TEST_F(MappedRangesTest, NewMappingTakesThePlaceOfOneThatIsGone) {
  ranges.born(at(0), 8 * kMiB, false);
  ranges.born(at(4), 64 * kMiB, false);
  EXPECT_EQ(pending, 1u);
  ranges.born(at(0), 128 * kMiB, true);
  EXPECT_EQ(pending, 0u);
}
TEST_F(MappedRangesTest, TableIsBounded) {
  for (unsigned i = 0; i < 3 * MappedRanges::kRanges; i++)
    ranges.born(at(i * 16), 8 * kMiB, false);
  EXPECT_EQ(pending, unsigned{MappedRanges::kRanges});
}
TEST_F(MappedRangesTest, BudgetHoldsForAdviceAndPromotion) {
  // One of six is the program's static data.
  charge_to(12 * kMiB, 1);
  ranges.born(at(0), 8 * kMiB, true);
  EXPECT_EQ(counters.mapped_superpages_advised.get(), 4u);
  ranges.born(at(16), 8 * kMiB, true); // one is left: it waits
  EXPECT_EQ(FakeOs::advices, 1u);
  touch(at(16), 1000 * kMs);
  EXPECT_EQ(FakeOs::collapsed.size(), 1u);
  EXPECT_FALSE(region.charge_superpages(1)); // the heaps have no superpage left
  EXPECT_EQ(pending, 1u);
  region.uncharge_superpages(1); // an object was freed
  touch(at(16), 1000 * kMs);
  EXPECT_EQ(FakeOs::collapsed.size(), 2u);
  EXPECT_EQ(region.charged_superpages(), 6u);
  for (int i = 0; i < 100 && pending; i++)
    touch(at(16), 1000 * kMs);
  EXPECT_EQ(pending, 0u); // but not for ever
}
TEST_F(MappedRangesTest, WithoutABudgetTheUnitsLeftHold) {
  config.units_left = 5;
  ranges.init(config, counters);
  ranges.born(at(0), 8 * kMiB, true);
  EXPECT_EQ(counters.mapped_superpages_advised.get(), 4u);
  ranges.born(at(16), 8 * kMiB, true); // one is left: it waits
  EXPECT_EQ(FakeOs::advices, 1u);
  touch(at(16), 1000 * kMs);
  EXPECT_EQ(FakeOs::collapsed.size(), 1u);
}
TEST_F(MappedRangesTest, SuperpagesThatDoNotComeAboutAreNotCharged) {
  charge_to(0, 0);
  FakeOs::collapse_result = [](char *) { return ENOMEM; };
  ranges.born(at(0), 8 * kMiB, false);
  touch(at(0), 1000 * kMs);
  EXPECT_EQ(region.charged_superpages(), 0u);
}
TEST_F(MappedRangesTest, PauseIsBounded) {
  ranges.born(at(0), 256 * kMiB, false);
  touch(at(0), 3 * kMs, kMs);
  uint64_t began = FakeOs::clock_ns;
  touch(at(0), 3 * kMs, kMs);
  EXPECT_LE(FakeOs::clock_ns - began, 3 * kMs + FakeOs::collapse_cost_ns);
}
} // namespace
} // namespace smalloc
