// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// region_test.cpp tests the address range and its slices, the budgets of superpages and mappings,
// and refusals of the system.
#include "tests/unit/core/fake_os.h"

#include <cerrno>
#include <gtest/gtest.h>

namespace smalloc {
namespace {
struct RegionTest : testing::Test {
  void SetUp() override { FakeOs::reset(); }
  Counters counters;
  Region region;
};

TEST_F(RegionTest, SlicesCoverTheRangeInOrder) {
  ASSERT_TRUE(region.init(FakeOs::config(), counters));
  uintptr_t at = region.start();
  for (unsigned i = 0; i < kSlices; i++) {
    auto s = static_cast<Slice>(i);
    EXPECT_EQ(region.slice_start(s), at);
    EXPECT_EQ(at % kSuperpageBytes, 0u);
    EXPECT_EQ(region.slice_of(reinterpret_cast<void *>(at)), s);
    EXPECT_EQ(region.slice_of(reinterpret_cast<void *>(region.slice_end(s) - 1)), s);
    at = region.slice_end(s);
  }
  EXPECT_EQ(at, region.start() + region.bytes());
  EXPECT_FALSE(region.contains(reinterpret_cast<void *>(at)));
  EXPECT_FALSE(region.contains(reinterpret_cast<void *>(region.start() - 1)));
}
TEST_F(RegionTest, RefusedReservationChangesNothing) {
  FakeOs::refuse_reserve = true;
  EXPECT_FALSE(region.init(FakeOs::config(), counters));
  EXPECT_EQ(region.bytes(), 0u);
  EXPECT_FALSE(region.contains(&region));
}
TEST_F(RegionTest, GrowIsAlignedAndEndsBeforeTheGuard) {
  ASSERT_TRUE(region.init(FakeOs::config(), counters));
  char *last = nullptr;
  for (;;) {
    char *p = region.grow(Slice::kClass, kSuperpageBytes + 4096);
    if (!p)
      break;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % kSuperpageBytes, 0u);
    EXPECT_TRUE(!last || p == last + 2 * kSuperpageBytes);
    last = p;
  }
  EXPECT_LE(reinterpret_cast<uintptr_t>(last) + 2 * kSuperpageBytes,
            region.slice_end(Slice::kClass) - kSuperpageBytes);
}
// Released address space is never handed out, allocated units stay, and a slice may grow within its
// smaller share.
TEST_F(RegionTest, ShrinksBehindWhatIsInUse) {
  ASSERT_TRUE(region.init(FakeOs::config(), counters));
  const Slice s = Slice::kClass;
  char *first = region.grow(s, kSuperpageBytes);
  for (const size_t bytes : {region.bytes() / 2, region.bytes() / 4, size_t{0}}) {
    FakeOs::unreserved.clear();
    region.shrink(s, bytes);
    ASSERT_EQ(FakeOs::unreserved.size(), 1u);
    const auto &[start, size] = *FakeOs::unreserved.begin();
    const auto at = reinterpret_cast<uintptr_t>(start);
    EXPECT_GE(at, region.slice_start(s) + Region::share_of(s, bytes));
    EXPECT_LE(at + size, region.slice_end(s));
    EXPECT_TRUE(region.went_back(start) && !region.went_back(start - 1));
    EXPECT_FALSE(region.went_back(first));
  }
  EXPECT_EQ(FakeOs::unreserved.begin()->first, first + 2 * kSuperpageBytes);
  EXPECT_EQ(region.grown_units(s), 1u);
  EXPECT_EQ(region.grow(s, kSuperpageBytes), nullptr);
  FakeOs::unreserved.clear();
  region.shrink(s, region.bytes()); // a raised limit releases nothing
  EXPECT_TRUE(FakeOs::unreserved.empty());
  EXPECT_NE(region.grow(Slice::kMeta, 4096), nullptr);
}
TEST_F(RegionTest, AShrunkSliceIsAdvisedAsFarAsItGoes) {
  ASSERT_TRUE(region.init(FakeOs::config(), counters));
  region.shrink(Slice::kSmallSuper, region.bytes() / 4);
  region.advise_slice(Slice::kSmallSuper);
  ASSERT_EQ(FakeOs::advised.size(), 1u);
  EXPECT_EQ(FakeOs::advised.begin()->second,
            Region::share_of(Slice::kSmallSuper, region.bytes() / 4));
}
TEST_F(RegionTest, RefusedCommitIsNull) {
  ASSERT_TRUE(region.init(FakeOs::config(), counters));
  FakeOs::refuse_commits_after = 0;
  EXPECT_EQ(region.grow(Slice::kMeta, 4096), nullptr);
  FakeOs::refuse_commits_after = -1;
  EXPECT_NE(region.grow(Slice::kMeta, 4096), nullptr);
}
// jemalloc tries again at every miss.
TEST_F(RegionTest, RefusedCommitsDoNotUseUpTheSlice) {
  ASSERT_TRUE(region.init(FakeOs::config(), counters));
  const size_t units =
      (region.slice_end(Slice::kClass) - region.slice_start(Slice::kClass)) / kSuperpageBytes;
  char *first = region.grow(Slice::kClass, kSuperpageBytes);
  FakeOs::refuse_commits_after = 0;
  for (size_t i = 0; i < 2 * units; i++)
    ASSERT_EQ(region.grow(Slice::kClass, kSuperpageBytes), nullptr);
  FakeOs::refuse_commits_after = -1;
  EXPECT_EQ(region.grow(Slice::kClass, kSuperpageBytes), first + kSuperpageBytes);
}
TEST_F(RegionTest, OneAdviceASlice) {
  ASSERT_TRUE(region.init(FakeOs::config(), counters));
  for (int i = 0; i < 20; i++)
    region.grow(Slice::kSmallSuper, kSuperpageBytes);
  EXPECT_EQ(FakeOs::advices, 1u);
  for (int i = 0; i < 20; i++)
    region.grow(Slice::kSmallBase, kSuperpageBytes);
  EXPECT_EQ(FakeOs::advices, 1u);
}
TEST_F(RegionTest, BudgetOfSuperpages) {
  Region::Config c = FakeOs::config();
  c.budget.bytes = 3 * kSuperpageBytes;
  ASSERT_TRUE(region.init(c, counters));
  EXPECT_TRUE(region.charge_superpages(2));
  EXPECT_FALSE(region.charge_superpages(2));
  EXPECT_TRUE(region.charge_superpages(1));
  uint64_t took;
  EXPECT_EQ(region.promote(region.unit_address(Slice::kBigBase, 0), took), ENOSPC);
  EXPECT_TRUE(FakeOs::collapsed.empty());
  // Superpages that were only charged are not counted.
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(counters.superpages_peak.get(), 0u);
  region.got_superpages(2);
  region.uncharge_superpages(1);
  EXPECT_EQ(region.promote(region.unit_address(Slice::kBigBase, 0), took), 0);
  EXPECT_EQ(counters.superpages_peak.get(), 3u);
  region.lost_superpages(2);
  EXPECT_EQ(counters.superpages_now.get(), 1u);
  EXPECT_EQ(counters.superpages_peak.get(), 3u);
  EXPECT_TRUE(region.charge_superpages(2));
  EXPECT_FALSE(region.charge_superpages(1));
}
TEST_F(RegionTest, NeverMeansNever) {
  Region::Config c = FakeOs::config();
  c.superpages_allowed = false;
  ASSERT_TRUE(region.init(c, counters));
  EXPECT_FALSE(region.charge_superpages(1));
  region.grow(Slice::kSmallSuper, kSuperpageBytes);
  EXPECT_EQ(FakeOs::advices, 0u);
}
TEST_F(RegionTest, MappingsStopAtAnEighth) {
  Region::Config c = FakeOs::config();
  c.mapping_limit = 80;
  ASSERT_TRUE(region.init(c, counters));
  EXPECT_TRUE(region.charge_mappings(10));
  EXPECT_FALSE(region.charge_mappings(1));
  region.uncharge_mappings(1);
  EXPECT_TRUE(region.charge_mappings(1));
}
TEST_F(RegionTest, FailedCollapsesAreCountedByReason) {
  ASSERT_TRUE(region.init(FakeOs::config(), counters));
  uint64_t took;
  char *unit = region.unit_address(Slice::kBigBase, 0);
  int reasons[] = {EINVAL, EAGAIN, EAGAIN, ENOMEM, EBUSY};
  for (int reason : reasons) {
    FakeOs::collapse_result = [=](char *) { return reason; };
    EXPECT_EQ(region.promote(unit, took), reason);
    EXPECT_EQ(took, FakeOs::collapse_cost_ns);
  }
  EXPECT_EQ(counters.collapse_failures[kCollapseInvalid].get(), 1u);
  EXPECT_EQ(counters.collapse_failures[kCollapseAgain].get(), 2u);
  EXPECT_EQ(counters.collapse_failures[kCollapseNoMemory].get(), 1u);
  EXPECT_EQ(counters.collapse_failures[kCollapseOther].get(), 1u);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
}
TEST_F(RegionTest, UnderThpAlwaysAdviceIsFlippedWithinTheBudget) {
  Region::Config c = FakeOs::config();
  c.thp = ThpMode::kAlways;
  c.mapping_limit = 16; // two for libsmalloc
  ASSERT_TRUE(region.init(c, counters));
  uint64_t took;
  EXPECT_EQ(region.promote(region.unit_address(Slice::kBigBase, 0), took), 0);
  EXPECT_EQ(region.promote(region.unit_address(Slice::kBigBase, 1), took), 0);
  EXPECT_EQ(region.promote(region.unit_address(Slice::kBigBase, 2), took), ENOMEM);
  EXPECT_EQ(counters.mappings.get(), 2u);
  region.demoted(region.unit_address(Slice::kBigBase, 0), kSuperpageBytes, 1);
  EXPECT_EQ(region.promote(region.unit_address(Slice::kBigBase, 2), took), 0);
  EXPECT_EQ(counters.superpages_now.get(), 2u);
}
TEST_F(RegionTest, ARefusedCollapseLeavesTheAdviceAsItWas) {
  Region::Config c = FakeOs::config();
  c.thp = ThpMode::kAlways;
  ASSERT_TRUE(region.init(c, counters));
  FakeOs::collapse_result = [](char *) { return ENOMEM; };
  char *unit = region.unit_address(Slice::kBigBase, 0);
  uint64_t took;
  EXPECT_EQ(region.promote(unit, took), ENOMEM);
  // Advised, and reversed: else the kernel would still make the unit a superpage.
  EXPECT_EQ(FakeOs::advices, 2u);
  EXPECT_FALSE(FakeOs::advised.contains(unit));
  EXPECT_EQ(counters.mappings.get(), 0u);
}
// Each demoted unit is a mapping of its own in a slice that is advised as a whole.
TEST_F(RegionTest, SuperpagesOfBirthAreDemotedWithinTheBudgetOfMappings) {
  Region::Config c = FakeOs::config();
  c.mapping_limit = 16; // two for libsmalloc
  ASSERT_TRUE(region.init(c, counters));
  ASSERT_TRUE(region.charge_superpages(3));
  region.got_superpages(3);
  char *unit = region.unit_address(Slice::kBigSuper, 0), *next = unit + kSuperpageBytes;
  char *idle = next + 7 * kBasePageBytes;
  EXPECT_TRUE(region.demote(unit));
  EXPECT_TRUE(region.demote(next, idle));
  EXPECT_FALSE(region.demote(next + kSuperpageBytes));
  EXPECT_EQ(FakeOs::idle_of_split,
            (std::map<const char *, const char *>{{unit, nullptr}, {next, idle}}));
  EXPECT_EQ(FakeOs::split.size(), 2u);
  EXPECT_EQ(counters.mappings.get(), 2u);
  EXPECT_EQ(counters.superpages_now.get(), 1u);
  EXPECT_EQ(counters.demotions.get(), 2u);
}
} // namespace
} // namespace smalloc
