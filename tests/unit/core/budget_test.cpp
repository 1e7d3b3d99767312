// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// budget_test.cpp tests the budget of superpages: a number, a share of the footprint, a share of a
// pool, the room in a memory cgroup. Also tests the owners that give superpages up when it is used
// up.
#include "smalloc/big/big_objects.h"
#include "smalloc/small/small_pages.h"
#include "tests/unit/core/fake_os.h"

#include <gtest/gtest.h>
#include <set>
#include <unistd.h>

namespace smalloc {
namespace {
constexpr uint64_t kMiB = 1 << 20, kMs = 1000000;
using Answer = Budget::Answer;

struct BudgetTest : testing::Test {
  void SetUp() override { FakeOs::reset(); }
  void resident(uint64_t bytes) {
    FakeOs::files["/proc/self/statm"] = "999999 " + std::to_string(bytes / kBasePageBytes) + " 1 1";
  }
  Budget budget;
};

TEST_F(BudgetTest, WithoutLimitNothingIsAsked) {
  budget.init(FakeOs::hooks(), {});
  EXPECT_FALSE(budget.limited());
  EXPECT_EQ(budget.allows(1 << 20, 1, true), Answer::kYes);
}
TEST_F(BudgetTest, Number) {
  Budget::Config c;
  c.bytes = 10 * kMiB;
  budget.init(FakeOs::hooks(), c);
  EXPECT_EQ(budget.allows(5, 1, true), Answer::kYes);
  EXPECT_EQ(budget.allows(6, 1, true), Answer::kOverBudget);
  c.bytes = 1;
  budget.init(FakeOs::hooks(), c);
  EXPECT_EQ(budget.allows(1, 1, true), Answer::kYes);
}
TEST_F(BudgetTest, ShareOfTheFootprintGrowsWithIt) {
  Budget::Config c;
  c.percent = 10;
  budget.init(FakeOs::hooks(), c);
  resident(100 * kMiB);
  EXPECT_EQ(budget.allows(5, 1, false), Answer::kYes);
  EXPECT_EQ(budget.allows(6, 1, false), Answer::kOverBudget);
  resident(1000 * kMiB);
  EXPECT_EQ(budget.allows(50, 1, false), Answer::kYes);
  // New memory counts, too: half of 100 MiB present and 100 MiB new.
  c.percent = 50;
  budget.init(FakeOs::hooks(), c);
  resident(100 * kMiB);
  EXPECT_EQ(budget.allows(50, 50, true), Answer::kYes);
  EXPECT_EQ(budget.allows(52, 52, false), Answer::kOverBudget);
}
TEST_F(BudgetTest, AllOfTheFootprintIsAlsoWhatIsNotTouchedYet) {
  Budget::Config c;
  c.percent = 100;
  budget.init(FakeOs::hooks(), c);
  resident(0);
  EXPECT_EQ(budget.allows(7, 1, true), Answer::kYes);
}
TEST_F(BudgetTest, WithoutProcTheSuperpagesAreTheFootprint) {
  Budget::Config c;
  c.percent = 90;
  budget.init(FakeOs::hooks(), c);
  EXPECT_EQ(budget.allows(1, 1, false), Answer::kOverBudget);
}
TEST_F(BudgetTest, ShareOfThePools) {
  EXPECT_EQ(Budget::pool_share(FakeOs::hooks(), "/sys", true, 50), 0u);
  FakeOs::files["/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"] = "40\n";
  FakeOs::files["/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages"] = "4\n";
  EXPECT_EQ(Budget::pool_share(FakeOs::hooks(), "/sys", false, 25), 10u);
  EXPECT_EQ(Budget::pool_share(FakeOs::hooks(), "/sys", true, 25), 522u);
  Budget::Config c;
  c.percent = 25;
  c.pool_units = 10;
  budget.init(FakeOs::hooks(), c);
  EXPECT_EQ(budget.allows(10, 1, true), Answer::kYes);
  EXPECT_EQ(budget.allows(11, 1, true), Answer::kOverBudget);
  resident(8 * kMiB); // a quarter of it may be on superpages without a pool
  EXPECT_EQ(budget.allows(11, 1, false), Answer::kYes);
  EXPECT_EQ(budget.allows(12, 1, false), Answer::kOverBudget);
}
TEST_F(BudgetTest, MostThatThereEverIs) {
  const uint64_t memory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * kBasePageBytes;
  Budget::Config c;
  budget.init(FakeOs::hooks(), c);
  EXPECT_EQ(budget.most_superpages(), UINT64_MAX);
  c.percent = 50; // of the process' memory, which is the machine's memory at most
  budget.init(FakeOs::hooks(), c);
  EXPECT_EQ(budget.most_superpages(), memory / 100 * 50 / kSuperpageBytes);
  EXPECT_EQ(Budget::most_bytes(0, 50), memory / 100 * 50);
  c.bytes = 10 * kMiB;
  budget.init(FakeOs::hooks(), c);
  EXPECT_EQ(budget.most_superpages(), 5u);
  EXPECT_EQ(Budget::most_bytes(10 * kMiB, 50), 10 * kMiB);
  EXPECT_EQ(Budget::most_bytes(0, 0), UINT64_MAX);
  c = {};
  c.percent = 25;
  c.pool_units = 10;
  budget.init(FakeOs::hooks(), c);
  EXPECT_EQ(budget.most_superpages(), memory / 100 * 25 / kSuperpageBytes + 10);
  FakeOs::files["/proc/self/cgroup"] = "0::/a\n";
  FakeOs::files["/sys/fs/cgroup/a/memory.max"] = std::to_string(20 * kMiB);
  FakeOs::files["/sys/fs/cgroup/a/memory.current"] = std::to_string(8 * kMiB);
  budget.init(FakeOs::hooks(), c);
  EXPECT_EQ(budget.most_superpages(), 6u);
}
TEST_F(BudgetTest, CgroupOfTheSecondVersionThatBindsFirst) {
  FakeOs::files["/proc/self/cgroup"] = "0::/a/b/c\n";
  FakeOs::files["/sys/fs/cgroup/a/b/c/memory.max"] = "max\n";
  FakeOs::files["/sys/fs/cgroup/a/b/memory.max"] = std::to_string(100 * kMiB);
  FakeOs::files["/sys/fs/cgroup/a/b/memory.current"] = std::to_string(90 * kMiB);
  FakeOs::files["/sys/fs/cgroup/a/memory.max"] = std::to_string(500 * kMiB);
  budget.init(FakeOs::hooks(), {});
  EXPECT_TRUE(budget.limited());
  EXPECT_EQ(budget.cgroup_room(), 10 * kMiB);
  EXPECT_EQ(budget.allows(5, 5, true), Answer::kYes);
  EXPECT_EQ(budget.allows(6, 6, true), Answer::kCgroupFull);
  // Promotion: its memory is resident already.
  EXPECT_EQ(budget.allows(600, 6, false), Answer::kYes);
  // Page cache that can be dropped is room; the limit may be changed meanwhile.
  FakeOs::files["/sys/fs/cgroup/a/b/memory.stat"] =
      "anon 1\ninactive_file " + std::to_string(20 * kMiB) + "\nactive_file 9\n";
  EXPECT_EQ(budget.cgroup_room(), 30 * kMiB);
  FakeOs::files["/sys/fs/cgroup/a/b/memory.max"] = std::to_string(60 * kMiB);
  EXPECT_EQ(budget.cgroup_room(), 0u);
  EXPECT_EQ(budget.allows(1, 1, false), Answer::kCgroupFull);
}
TEST_F(BudgetTest, CgroupOfTheFirstVersion) {
  FakeOs::files["/proc/self/cgroup"] = "5:cpu:/x\n4:memory:/a\n0::/\n";
  FakeOs::files["/sys/fs/cgroup/memory/a/memory.limit_in_bytes"] = std::to_string(50 * kMiB);
  FakeOs::files["/sys/fs/cgroup/memory/a/memory.usage_in_bytes"] = std::to_string(10 * kMiB);
  FakeOs::files["/sys/fs/cgroup/memory/memory.limit_in_bytes"] = "9223372036854771712";
  budget.init(FakeOs::hooks(), {});
  EXPECT_EQ(budget.cgroup_room(), 40 * kMiB);
}
TEST_F(BudgetTest, UnlimitedCgroupOrStrangeFileIsNoLimit) {
  FakeOs::files["/proc/self/cgroup"] = "0::/\nnonsense\n:\n::\n";
  FakeOs::files["/sys/fs/cgroup/memory/memory.limit_in_bytes"] = "9223372036854771712";
  budget.init(FakeOs::hooks(), {});
  EXPECT_FALSE(budget.limited());
}

/// Two objects of 16 superpages, and a budget for one of them.
struct ShortageTest : testing::Test {
  void start(bool may_demote) {
    FakeOs::reset();
    Region::Config config = FakeOs::config();
    config.pending = &pending;
    config.budget.bytes = 16 * kSuperpageBytes;
    FakeOs::make_page_fallback(page_fallback, counters);
    BigObjects::Config c;
    c.may_demote = may_demote;
    c.small = &small;
    ASSERT_TRUE(region.init(config, counters) && big.init(region, page_fallback, c));
    BigRequest r;
    r.bytes = 16 * kSuperpageBytes;
    cold = static_cast<char *>(big.allocate(r));
    hot = static_cast<char *>(big.allocate(r));
    use(cold, 100 * kMs);
    ASSERT_EQ(superpages(cold), 16u);
  }
  /// Makes 12 full units of small objects, on base pages.
  void start_small() {
    static BigObjects *the_big;
    the_big = &big;
    SmallPages::Config c;
    c.make_room = [](uint64_t worth, unsigned wanted) {
      return the_big->make_room_for(worth, wanted);
    };
    ASSERT_TRUE(small.init(region, c));
    small.lower_reach(0);
    pages = small.grow(12 * kSuperpageBytes, kSuperpageBytes, 1);
    ASSERT_TRUE(pages && small.commit(pages, 12 * kSuperpageBytes));
  }
  void use_small(uint64_t saved_ns) {
    small.earn(saved_ns);
    small.note_worth(saved_ns);
    small.promote(price, 1000 * kMs, false);
    ASSERT_TRUE(small.check_invariants() && big.check_invariants());
    ASSERT_LE(counters.superpages_now.get(), 16u);
  }
  uint64_t small_superpages() {
    return counters.superpages_now.get() - superpages(cold) - superpages(hot);
  }
  void use(char *p, uint64_t saved_ns) {
    auto h = big.find(p);
    if (h.object->pending)
      big.promote(h, price, saved_ns, 1000 * kMs, false);
    else if (region.short_of_superpages())
      big.note_worth(h, saved_ns);
    ASSERT_TRUE(big.check_invariants());
    ASSERT_LE(counters.superpages_now.get(), 16u);
  }
  unsigned superpages(char *p) { return big.find(p).object->superpages; }
  char *born_on_superpages(uint64_t units, uint32_t profile_worth = 0) {
    BigRequest r;
    r.profile_worth = profile_worth;
    r.bytes = units * kSuperpageBytes;
    r.superpages_at_first_touch = true;
    return static_cast<char *>(big.allocate(r));
  }
  unsigned pending = 0;
  char *cold, *hot;
  Counters counters;
  Region region;
  PageFallback page_fallback;
  BigObjects big;
  SmallPages small;
  char *pages = nullptr;
  Price price;
};

TEST_F(ShortageTest, HeapOfSmallObjectsTakesWhatItGainsMoreFrom) {
  start(true);
  start_small();
  use_small(100 * kMs); // as much as cold has had, for fewer units, but less than twice per unit
  EXPECT_EQ(small_superpages(), 0u);
  for (int i = 0; i < 10; i++)
    use_small(100 * kMs);
  EXPECT_EQ(small_superpages(), 12u);
  EXPECT_LE(superpages(cold), 4u);
  EXPECT_GE(counters.demotions.get(), 12u);
}
TEST_F(ShortageTest, HeapOfSmallObjectsGivesWay) {
  start(true);
  start_small();
  for (int i = 0; i < 10; i++)
    use_small(100 * kMs);
  ASSERT_EQ(small_superpages(), 12u);
  memset(pages, 7, 12 * kSuperpageBytes);
  FakeOs::clock_ns += 8000 * kMs; // all earlier worth has decayed
  for (int i = 0; i < 40; i++)
    use(hot, 50 * kMs);
  EXPECT_EQ(superpages(hot), 16u);
  EXPECT_EQ(small_superpages(), 0u);
  EXPECT_TRUE(small.check_invariants());
  for (size_t i = 0; i < 12 * kSuperpageBytes; i += 1000)
    ASSERT_EQ(pages[i], 7);
  // The units are full.
  for (const auto &[unit, idle] : FakeOs::idle_of_split)
    EXPECT_EQ(idle, nullptr);
}
TEST_F(ShortageTest, HeapOfSmallObjectsKeepsItsOwnWhereDemotionIsOff) {
  start(false);
  start_small();
  for (int i = 0; i < 50; i++)
    use_small(100 * kMs);
  EXPECT_EQ(small_superpages(), 0u);
  EXPECT_EQ(counters.demotions.get(), 0u);
}
TEST_F(ShortageTest, HighestBenefitGetsThem) {
  start(true);
  for (int i = 0; i < 40; i++)
    use(hot, 20 * kMs);
  EXPECT_EQ(superpages(hot), 16u);
  EXPECT_EQ(superpages(cold), 0u);
  EXPECT_EQ(counters.demotions.get(), 16u);
  EXPECT_EQ(FakeOs::split.size(), 16u);
  // No page of an object is known to be idle.
  for (const auto &[unit, idle] : FakeOs::idle_of_split)
    EXPECT_EQ(idle, nullptr);
  EXPECT_TRUE(big.release(cold) && big.release(hot));
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
  EXPECT_EQ(pending, 0u);
}
TEST_F(ShortageTest, AllThatGaveWayAreTold) {
  start(true);
  big.release(cold);
  std::set<void *> losers;
  for (int i = 0; i < 2; i++) {
    char *p = born_on_superpages(8);
    ASSERT_EQ(superpages(p), 8u);
    losers.insert(big.find(p).object);
  }
  EXPECT_FALSE(big.next_unrecorded());
  for (int i = 0; i < 40; i++)
    use(hot, 20 * kMs);
  ASSERT_EQ(superpages(hot), 16u);
  for (int i = 0; i < 2; i++) {
    const BigObjects::Handle loser = big.next_unrecorded();
    ASSERT_TRUE(loser);
    EXPECT_EQ(losers.erase(loser.object), 1u);
    EXPECT_EQ(loser.object->superpages, 0u);
  }
  EXPECT_FALSE(big.next_unrecorded());
}
TEST_F(ShortageTest, EqualsDoNotTakeFromEachOther) {
  start(true);
  for (int i = 0; i < 100; i++) {
    use(hot, 20 * kMs);
    use(cold, 20 * kMs);
  }
  EXPECT_EQ(superpages(cold), 16u);
  EXPECT_EQ(counters.demotions.get(), 0u);
}
TEST_F(ShortageTest, WhatBecameColdGivesWay) {
  start(true);
  use(cold, 1000 * kMs); // was worth a lot
  use(hot, 20 * kMs);
  use(hot, 20 * kMs);
  EXPECT_EQ(superpages(cold), 16u);
  for (int i = 0; i < 40; i++) {
    FakeOs::clock_ns += 1000 * kMs;
    use(hot, 30 * kMs);
  }
  EXPECT_GT(superpages(hot), 0u);
}
TEST_F(ShortageTest, NobodyLosesAnythingWhereDemotionIsOff) {
  start(false);
  for (int i = 0; i < 100; i++)
    use(hot, 100 * kMs);
  EXPECT_EQ(superpages(cold), 16u);
  EXPECT_EQ(counters.demotions.get(), 0u);
}
TEST_F(ShortageTest, SuperpagesAtFirstTouchGiveWayAndCostMappings) {
  start(true);
  big.release(cold);
  cold = born_on_superpages(16);
  ASSERT_EQ(superpages(cold), 16u);
  uint64_t mappings = counters.mappings.get();
  for (int i = 0; i < 40; i++)
    use(hot, 20 * kMs);
  EXPECT_EQ(superpages(hot), 16u);
  EXPECT_EQ(counters.mappings.get(), mappings + 16);
  EXPECT_TRUE(big.release(cold) && big.release(hot));
  EXPECT_EQ(counters.mappings.get(), 0u);
}
TEST_F(ShortageTest, WhatAProfileSaysIsWorthMoreTakesAtFirstTouch) {
  start(true);
  big.release(cold);
  char *least = born_on_superpages(6, 0), *less = born_on_superpages(6, 10);
  ASSERT_EQ(superpages(least) + superpages(less), 12u);
  char *equal = born_on_superpages(14, 10); // 4 left and 6 that are worth less
  EXPECT_EQ(superpages(equal), 0u);
  EXPECT_EQ(counters.demotions.get(), 0u);
  char *more = born_on_superpages(14, 11);
  EXPECT_EQ(superpages(more), 14u);
  EXPECT_EQ(superpages(least), 0u); // before the one that is worth more
  EXPECT_EQ(superpages(less), 2u);
  EXPECT_EQ(region.charged_superpages(), 16u);
  EXPECT_TRUE(big.check_invariants());
  char *unknown = born_on_superpages(1);
  EXPECT_EQ(superpages(unknown), 0u);
}
TEST_F(ShortageTest, WhatAProfileSaysIsWorthLessDoesNotTakeBack) {
  start(true);
  big.release(cold);
  char *more = born_on_superpages(16, 20);
  ASSERT_EQ(superpages(more), 16u);
  big.find(hot).object->profile_worth = 10;
  for (int i = 0; i < 40; i++)
    use(hot, 20 * kMs);
  EXPECT_EQ(superpages(more), 16u);
  big.find(hot).object->profile_worth = 0; // not measured: its use counts
  for (int i = 0; i < 40; i++)
    use(hot, 20 * kMs);
  EXPECT_EQ(superpages(hot), 16u);
}
} // namespace
} // namespace smalloc
