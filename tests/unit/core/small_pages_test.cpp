// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// small_pages_test.cpp tests the pages of small heaps: use is counted exactly, reused memory is
// zero, empty units are released, and superpages only as a whole.
#include "tests/unit/core/small_pages_fixture.h"

#include <algorithm>
#include <random>
#include <vector>

namespace smalloc {
namespace {
struct SmallPagesTest : SmallPagesFixture {
  void SetUp() override {
    SmallPagesFixture::SetUp();
    SmallPages::Config c;
    c.has_super = true;
    ASSERT_TRUE(pages.init(region, c));
  }
};

TEST_F(SmallPagesTest, RandomUseAgainstAModel) {
  char *start = pages.grow(8 * kSuperpageBytes, kBasePageBytes, 1);
  ASSERT_NE(start, nullptr);
  constexpr size_t kPages = 8 * kPagesPerUnit;
  std::vector<bool> used(kPages);
  std::mt19937 random(3);
  pages.lower_reach(0);
  for (int step = 0; step < 3000; step++) {
    size_t first = random() % kPages, n = 1 + random() % (random() % 5 ? 20 : 1200);
    n = std::min(n, kPages - first);
    bool on = random() % 5 < 3;
    if (on) { // jemalloc commits only unused pages
      while (n && used[first + n - 1])
        n--;
      size_t k = n;
      while (k && !used[first + k - 1])
        k--;
      first += k, n -= k;
      if (!n)
        continue;
      ASSERT_TRUE(pages.commit(start + first * kBasePageBytes, n * kBasePageBytes));
      for (size_t i = 0; i < n; i++) {
        char *p = start + (first + i) * kBasePageBytes;
        ASSERT_TRUE(p[0] == 0 && p[100] == 0 && p[kBasePageBytes - 1] == 0) << step;
        p[0] = p[100] = p[kBasePageBytes - 1] = 1;
        used[first + i] = true;
      }
    } else {
      pages.decommit(start + first * kBasePageBytes, n * kBasePageBytes);
      for (size_t i = 0; i < n; i++)
        used[first + i] = false;
    }
    if (step % 100 == 0)
      pages.promote(price, UINT64_MAX, true);
    if (step % 7 == 0)
      FakeOs::purge_error = random() % 4 ? 0 : EINVAL; // locked memory
    size_t live = 0;
    for (bool u : used)
      live += u;
    ASSERT_EQ(pages.live_bytes(), live * kBasePageBytes);
    ASSERT_TRUE(pages.check_invariants()) << step;
  }
}
TEST_F(SmallPagesTest, SuperpagesGoBackOnlyWhole) {
  char *p = pages.grow(kSuperpageBytes, kBasePageBytes, 1);
  pages.commit(p, kSuperpageBytes);
  pages.lower_reach(kSuperpageBytes);
  EXPECT_EQ(pending, 1u);
  pages.promote(price, UINT64_MAX, true);
  EXPECT_EQ(FakeOs::collapsed.count(p), 1u);
  EXPECT_EQ(pending, 0u);
  pages.decommit(p, kSuperpageBytes / 2);
  EXPECT_EQ(FakeOs::purges, 0u);
  pages.decommit(p + kSuperpageBytes / 2, kSuperpageBytes / 2);
  EXPECT_EQ(FakeOs::purges, 1u);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
}
TEST_F(SmallPagesTest, WhatTheSystemDidNotTakeIsOfferedAgain) {
  char *p = pages.grow(2 * kSuperpageBytes, kBasePageBytes, 1);
  pages.commit(p, 2 * kSuperpageBytes);
  pages.lower_reach(0);
  ASSERT_EQ(pages.promote_all(price), 2u);
  FakeOs::purge_error = EINVAL;
  pages.decommit(p, kSuperpageBytes);                        // a whole superpage
  pages.decommit(p + kSuperpageBytes, 300 * kBasePageBytes); // a part of one
  EXPECT_EQ(counters.superpages_now.get(), 2u);
  EXPECT_EQ(counters.pages_released.get(), 0u);
  pages.purge_again();
  EXPECT_EQ(counters.pages_released.get(), 0u);
  FakeOs::purge_error = 0;
  pages.purge_again();
  EXPECT_EQ(counters.superpages_now.get(), 1u);
  // Parts of a superpage in use are not released.
  EXPECT_EQ(counters.pages_released.get(), kPagesPerUnit);
  ASSERT_TRUE(pages.check_invariants());
}
TEST_F(SmallPagesTest, BelowTheReachNothingIsPromotedAndCreditIsNeeded) {
  char *p = pages.grow(4 * kSuperpageBytes, kBasePageBytes, 1);
  pages.commit(p, 4 * kSuperpageBytes);
  pages.lower_reach(5 * kSuperpageBytes);
  EXPECT_FALSE(pages.pending());
  pages.earn(UINT32_MAX);
  pages.promote(price, UINT64_MAX, false);
  EXPECT_TRUE(FakeOs::collapsed.empty());
  char *q = pages.grow(kSuperpageBytes, kBasePageBytes, 1);
  pages.commit(q, kSuperpageBytes);
  EXPECT_TRUE(pages.pending());
  pages.promote(price, UINT64_MAX, false);
  EXPECT_EQ(FakeOs::collapsed.size(),
            5u); // the credit earned below the reach (4.3 s) was kept and pays for all
}
TEST_F(SmallPagesTest, UnitThatIsEmptiedWhileItIsCollapsedIsNotCharged) {
  char *p = pages.grow(kSuperpageBytes, kBasePageBytes, 1);
  pages.commit(p, kSuperpageBytes);
  pages.lower_reach(0);
  FakeOs::collapse_result = [&](char *) {
    pages.decommit(p, kSuperpageBytes); // like another thread
    return 0;
  };
  pages.earn(UINT32_MAX);
  pages.promote(price, UINT64_MAX, false);
  EXPECT_EQ(FakeOs::collapsed.size(), 1u);
  EXPECT_EQ(region.charged_superpages(), 0u);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  FakeOs::collapse_result = [](char *) { return 0; };
  pages.commit(p, kSuperpageBytes); // used again, it waits again
  pages.promote(price, UINT64_MAX, false);
  EXPECT_EQ(counters.superpages_now.get(), 1u);
}
TEST_F(SmallPagesTest, WhatIsPaidForGoesOnAfterThePause) {
  char *p = pages.grow(3 * kSuperpageBytes, kBasePageBytes, 1);
  pages.commit(p, 3 * kSuperpageBytes);
  pages.lower_reach(0);
  pages.promote(price, 1, false);
  EXPECT_FALSE(pages.is_funded()); // no credit yet
  pages.earn(UINT32_MAX);
  for (size_t collapsed = 1; collapsed <= 3; collapsed++) {
    EXPECT_TRUE(pages.due());
    pages.promote(price, 1, false);
    EXPECT_EQ(FakeOs::collapsed.size(), collapsed);
    EXPECT_EQ(pages.is_funded(), collapsed < 3);
  }
  EXPECT_FALSE(pages.due()); // none is left
}
TEST_F(SmallPagesTest, AtFirstTouchOnlyWhereAUnitIsTwoPercent) {
  pages.lower_reach(4 * kSuperpageBytes);
  for (int i = 0; i < 80; i++) {
    char *p = pages.grow(kSuperpageBytes, kBasePageBytes, 1);
    ASSERT_NE(p, nullptr);
    bool super = region.slice_of(p) == Slice::kSmallSuper;
    EXPECT_EQ(super, i >= 50 && i % 8 != 1) << i; // from 100 MiB on; every eighth is a probe
    pages.commit(p, kSuperpageBytes);
  }
  EXPECT_EQ(counters.superpages_at_first_touch.get(), 27u);
}
TEST_F(SmallPagesTest, TheProcessMallocHasSuperpagesEarlierAndFewerProbes) {
  constexpr unsigned kFirst = 1; // unit, 2 MiB
  static_assert(SmallPages::kAtFirstTouchBytesOfProcess == kFirst * kSuperpageBytes);
  for (const unsigned heaps : {1u, 3u}) {
    SetUp();
    SmallPages process;
    start_as_process_malloc(process);
    std::vector<unsigned> probes; // by growth from 2 MiB a heap on, the first is 1
    for (unsigned i = 0; i < heaps * kFirst + 70; i++) {
      char *p = process.grow(kSuperpageBytes, kBasePageBytes, heaps);
      ASSERT_NE(p, nullptr);
      const bool super = region.slice_of(p) == Slice::kSmallSuper;
      if (i < heaps * kFirst)
        EXPECT_FALSE(super) << i;
      else if (!super)
        probes.push_back(i - heaps * kFirst + 1);
      process.commit(p, kSuperpageBytes);
    }
    // The second finds the first superpage empty. It is filled, so the superpages hold zeros.
    EXPECT_EQ(probes, (std::vector<unsigned>{2, 8, 16, 32, 64})) << heaps;
    EXPECT_TRUE(process.check_invariants());
  }
}
// A program's first objects lie in the first units, on base pages. Without requests beyond the
// thread's cache only the heap's growth shows that the program runs on.
TEST_F(SmallPagesTest, GrowthOnSuperpagesPaysForTheFirstUnits) {
  SmallPages process;
  start_as_process_malloc(process);
  const auto grow = [&] {
    char *p = process.grow(kSuperpageBytes, kBasePageBytes, 1);
    process.commit(p, kSuperpageBytes);
    return p;
  };
  char *first = grow();
  ASSERT_EQ(region.slice_of(first), Slice::kSmallBase);
  process.promote(price, UINT64_MAX, false);
  EXPECT_TRUE(FakeOs::collapsed.empty());
  FakeOs::holds_data = [](const char *) { return true; }; // no probe among the next units
  for (int i = 0; i < 2; i++)
    ASSERT_EQ(region.slice_of(grow()), Slice::kSmallSuper);
  EXPECT_TRUE(process.due());
  process.promote(price, UINT64_MAX, false);
  ASSERT_FALSE(FakeOs::collapsed.empty());
  EXPECT_EQ(*FakeOs::collapsed.begin(), first);
}
// A collapse outside of the heap is paid by the same credit.
TEST_F(SmallPagesTest, PaysForACollapseElsewhereOnlyWithCredit) {
  static unsigned calls;
  static bool result;
  calls = 0;
  result = true;
  const auto collapse = [] {
    calls++;
    FakeOs::clock_ns += 1500000;
    return result;
  };
  pages.lower_reach(0);
  EXPECT_FALSE(pages.pay_for(price, collapse));
  EXPECT_EQ(calls, 0u);
  pages.earn(2000000);
  EXPECT_TRUE(pages.pay_for(price, collapse));
  EXPECT_FALSE(pages.pay_for(price, collapse)); // the credit is used up
  EXPECT_EQ(calls, 1u);
  pages.earn(2000000);
  result = false;
  EXPECT_FALSE(pages.pay_for(price, collapse));
  EXPECT_EQ(calls, 2u);
}
TEST_F(SmallPagesTest, TheLastProbesDecideWhetherTheyAreEveryEighthOrDouble) {
  SmallPages process;
  start_as_process_malloc(process);
  size_t touched = kPagesPerUnit;
  FakeOs::resident = [&](const char *) { return touched; };
  const auto grow_full = [&](unsigned units) {
    for (unsigned i = 0; i < units; i++)
      process.commit(process.grow(kSuperpageBytes, kBasePageBytes, 1), kSuperpageBytes);
  };
  grow_full(1 + 10);
  EXPECT_EQ(counters.superpages_at_first_touch.get(), 8u); // all but the 2nd and the 8th
  touched = 100;
  grow_full(100);
  EXPECT_EQ(counters.superpages_at_first_touch.get(), 8u);
}
TEST_F(SmallPagesTest, SuperpagesThatHoldDataNeedNoProbe) {
  SmallPages process;
  start_as_process_malloc(process);
  bool holds = true;
  FakeOs::holds_data = [&](const char *) { return holds; };
  const auto grow_full = [&](unsigned units) {
    for (unsigned i = 0; i < units; i++)
      process.commit(process.grow(kSuperpageBytes, kBasePageBytes, 1), kSuperpageBytes);
    return counters.superpages_at_first_touch.get();
  };
  EXPECT_EQ(grow_full(1 + 31), 31u);
  holds = false; // zeros, or untouched: the 32nd is a probe
  EXPECT_EQ(grow_full(10), 40u);
}
// Objects of several pages may stay empty (buffers, stacks). No growth after the first empty
// superpage has one, until the program fills a unit on base pages.
TEST_F(SmallPagesTest, TheFirstEmptySuperpageEndsThem) {
  SmallPages process;
  start_as_process_malloc(process);
  FakeOs::holds_data = [&](const char *) { return false; };
  bool fills = true;
  FakeOs::resident = [&](const char *) { return fills ? kPagesPerUnit : kPagesPerUnit / 8; };
  const auto grow_full = [&](unsigned units) {
    for (unsigned i = 0; i < units; i++)
      process.commit(process.grow(kSuperpageBytes, kBasePageBytes, 1), kSuperpageBytes);
    return counters.superpages_at_first_touch.get();
  };
  EXPECT_EQ(grow_full(2), 1u);
  fills = false;
  EXPECT_EQ(grow_full(100), 1u);
  fills = true;
  EXPECT_EQ(grow_full(4), 4u); // the first of them is a probe: the superpage did hold zeros
}
// Large size classes leave gaps in a unit that takes no further object.
TEST_F(SmallPagesTest, AProbeIsFullAndTouchedFromSevenEighthsOn) {
  const auto grows_dense = [this](size_t used, size_t touched) {
    SetUp();
    FakeOs::resident = [touched](const char *) { return touched; };
    SmallPages some;
    SmallPages::Config c;
    c.has_super = true;
    c.at_first_touch_bytes = 1;
    EXPECT_TRUE(some.init(region, c));
    some.lower_reach(0);
    some.commit(some.grow(kSuperpageBytes, kBasePageBytes, 1), used * kBasePageBytes);
    return region.slice_of(some.grow(kSuperpageBytes, kBasePageBytes, 1)) == Slice::kSmallSuper;
  };
  constexpr size_t kFull = kPagesPerUnit * 7 / 8;
  EXPECT_TRUE(grows_dense(kPagesPerUnit, kPagesPerUnit));
  EXPECT_TRUE(grows_dense(kFull, kFull));
  EXPECT_FALSE(grows_dense(kFull - 1, kFull - 1)); // still being filled
  EXPECT_TRUE(grows_dense(kPagesPerUnit, kFull));
  EXPECT_FALSE(grows_dense(kPagesPerUnit, kFull - 1));
  EXPECT_TRUE(grows_dense(kFull, kFull * 7 / 8));
  EXPECT_FALSE(grows_dense(kFull, kFull * 7 / 8 - 1));
}
// In the newest full unit each size class has begun a slab, of which the program has not touched
// the rest. The units before tell whether it fills what it requests.
TEST_F(SmallPagesTest, TheNewestUnitMayHoldBegunSlabs) {
  const auto grows_dense = [this](std::vector<size_t> touched) { // by unit, the oldest first
    SetUp();
    SmallPages some;
    SmallPages::Config c;
    c.has_super = true;
    c.at_first_touch_bytes = uint64_t{touched.size()} * kSuperpageBytes;
    EXPECT_TRUE(some.init(region, c));
    some.lower_reach(0);
    std::vector<const char *> units;
    for (size_t i = 0; i < touched.size(); i++) {
      char *unit = some.grow(kSuperpageBytes, kBasePageBytes, 1);
      EXPECT_EQ(region.slice_of(unit), Slice::kSmallBase);
      some.commit(unit, kSuperpageBytes);
      units.push_back(unit);
    }
    FakeOs::resident = [&](const char *p) {
      return touched[static_cast<size_t>(std::find(units.begin(), units.end(), p) - units.begin())];
    };
    const bool dense =
        region.slice_of(some.grow(kSuperpageBytes, kBasePageBytes, 1)) == Slice::kSmallSuper;
    FakeOs::resident = nullptr;
    return dense;
  };
  constexpr size_t kAll = kPagesPerUnit, kTwoThirds = kAll - kAll / 3;
  EXPECT_TRUE(grows_dense({kAll, kAll, kTwoThirds}));
  EXPECT_FALSE(grows_dense({kAll, kAll, kTwoThirds - 1}));
  EXPECT_FALSE(grows_dense({kAll, kTwoThirds, kAll})); // it was filled before: no begun slabs
  EXPECT_FALSE(grows_dense({kAll, kTwoThirds, kTwoThirds}));
  EXPECT_FALSE(grows_dense({kTwoThirds})); // no unit before
}
TEST_F(SmallPagesTest, GrowthThatDoesNotFillItsUnitsHasNoSuperpagesAtFirstTouch) {
  SmallPages always;
  SmallPages::Config c;
  c.has_super = c.superpages_at_first_touch = true;
  ASSERT_TRUE(always.init(region, c));
  for (const size_t rest : {kBasePageBytes, kSuperpageBytes - kBasePageBytes}) {
    char *p = always.grow(3 * kSuperpageBytes + rest, kBasePageBytes, 1);
    EXPECT_EQ(region.slice_of(p), Slice::kSmallBase) << rest;
  }
  EXPECT_EQ(counters.superpages_at_first_touch.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
  EXPECT_EQ(region.slice_of(always.grow(3 * kSuperpageBytes, kBasePageBytes, 1)),
            Slice::kSmallSuper);
  EXPECT_EQ(counters.superpages_at_first_touch.get(), 3u);
}
TEST_F(SmallPagesTest, HowManyPagesAUnitNeedsToBeCollapsedIsConfigured) {
  constexpr size_t kNeeded = kPagesPerUnit - kPagesPerUnit / 16; // as in the process' malloc
  SmallPages some;
  SmallPages::Config c;
  c.dense_pages = kNeeded;
  ASSERT_TRUE(some.init(region, c));
  some.lower_reach(0);
  char *p = some.grow(kSuperpageBytes, kBasePageBytes, 1);
  some.commit(p, (kNeeded - 1) * kBasePageBytes);
  EXPECT_FALSE(some.pending());
  EXPECT_EQ(some.promote_all(price), 0u);
  some.commit(p + (kNeeded - 1) * kBasePageBytes, kBasePageBytes);
  EXPECT_TRUE(some.pending());
  EXPECT_EQ(pending, 1u);
  size_t touched = kNeeded - 1;
  FakeOs::resident = [&](const char *) { return touched; };
  some.promote(price, UINT64_MAX, true);
  EXPECT_EQ(FakeOs::collapsed.count(p), 0u);
  EXPECT_EQ(counters.units_too_sparse.get(), 1u);
  touched = kNeeded;
  some.promote(price, UINT64_MAX, true);
  EXPECT_EQ(FakeOs::collapsed.count(p), 1u);
  EXPECT_EQ(counters.superpages_now.get(), 1u);
  EXPECT_FALSE(some.pending());
  EXPECT_TRUE(some.check_invariants());
}
TEST_F(SmallPagesTest, RefusedGrowthIsNull) {
  FakeOs::refuse_commits_after = 0;
  EXPECT_EQ(pages.grow(kSuperpageBytes, kBasePageBytes, 1), nullptr);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
}
TEST_F(SmallPagesTest, TimeEarnsThreePercent) {
  char *p = pages.grow(4 * kSuperpageBytes, kBasePageBytes, 1);
  pages.commit(p, 4 * kSuperpageBytes);
  pages.lower_reach(0);
  FakeOs::clock_ns += 32000000; // 1 ms of credit; a collapse costs more
  pages.earn_time();
  pages.promote(price, UINT64_MAX, false);
  EXPECT_EQ(FakeOs::collapsed.size(), 0u);
  FakeOs::clock_ns += 32000000;
  pages.earn_time();
  pages.promote(price, UINT64_MAX, false);
  EXPECT_EQ(FakeOs::collapsed.size(), 1u);
}
// Estimated credit may be much too high. The cost of collapses still stays within 3 % of the
// process' CPU time plus the counted credit. Refused and expensive collapses are included.
TEST_F(SmallPagesTest, WhatCollapsesTakeIsBoundedByWhatWasMeasured) {
  static uint64_t cpu_ns, counted_ns;
  cpu_ns = counted_ns = 0;
  SmallPages bounded;
  SmallPages::Config c;
  c.base = Slice::kClass;
  c.cpu_ns = [] { return cpu_ns; };
  ASSERT_TRUE(bounded.init(region, c));
  constexpr size_t kUnits = 200;
  bounded.lower_reach(0);
  bounded.commit(bounded.grow(kUnits * kSuperpageBytes, kBasePageBytes, 1),
                 kUnits * kSuperpageBytes);
  bounded.earn(uint64_t{1} << 40);
  bounded.promote(price, UINT64_MAX, false);
  EXPECT_EQ(counters.collapse_ns.get(), 0u);
  std::mt19937 random(9);
  FakeOs::collapse_result = [&](char *) { return random() % 8 ? 0 : EAGAIN; };
  for (int step = 0; step < 500; step++) {
    FakeOs::collapse_cost_ns = 1000000 + random() % 3000000;
    cpu_ns += random() % 200000000;
    if (step % 50 == 49)
      bounded.earn(0, 2000000), counted_ns += 2000000;
    bounded.promote(price, UINT64_MAX, false);
    // The last one may have cost more than its expected price.
    ASSERT_LE(counters.collapse_ns.get(), cpu_ns / kTimePerCollapseTime + counted_ns + 4000000)
        << step;
    ASSERT_TRUE(bounded.check_invariants());
  }
  EXPECT_GT(FakeOs::collapsed.size(), kUnits / 3);
  FakeOs::collapse_cost_ns = 1000000;
  cpu_ns += 100 * kUnits * uint64_t{4000000};
  bounded.promote(price, UINT64_MAX, false);
  EXPECT_GT(FakeOs::collapsed.size(), kUnits * 9 / 10);
}

// Beside other work a collapse takes much longer by the clock. Its cost is the CPU time of its
// thread.
TEST_F(SmallPagesTest, CollapsesArePaidByWhatTheirThreadComputed) {
  static uint64_t thread_ns;
  thread_ns = 0;
  SmallPages paid;
  SmallPages::Config c;
  c.base = Slice::kClass;
  c.cpu_ns = [] { return kTimePerCollapseTime * 10000000; }; // 10 ms may be spent
  c.thread_cpu_ns = [] { return thread_ns; };
  ASSERT_TRUE(paid.init(region, c));
  constexpr size_t kUnits = 50;
  paid.lower_reach(0);
  paid.commit(paid.grow(kUnits * kSuperpageBytes, kBasePageBytes, 1), kUnits * kSuperpageBytes);
  paid.earn(uint64_t{1} << 40);
  FakeOs::collapse_cost_ns = 40000000; // by the clock
  FakeOs::collapse_result = [&](char *) {
    thread_ns += 1000000;
    return 0;
  };
  for (int step = 0; step < 20; step++)
    paid.promote(price, UINT64_MAX, false);
  EXPECT_GE(FakeOs::collapsed.size(), 6u);
  EXPECT_LE(thread_ns, 10000000u);
}
TEST_F(SmallPagesTest, EmptiestSuperpageGivesItsIdlePagesBack) {
  constexpr size_t kUnits = 20;
  char *start = pages.grow(kUnits * kSuperpageBytes, kBasePageBytes, 1);
  pages.lower_reach(0);
  pages.commit(start, kUnits * kSuperpageBytes);
  ASSERT_EQ(pages.promote_all(price), kUnits);
  char *thin = start + 3 * kSuperpageBytes, *thick = start + 4 * kSuperpageBytes;
  thin[0] = thick[0] = 7;
  // 10 % of the live pages and one superpage may be idle: first within this limit, then beyond.
  pages.decommit(thick + 300 * kBasePageBytes, 200 * kBasePageBytes);
  pages.decommit(thin + 2 * kBasePageBytes, 500 * kBasePageBytes);
  pages.decommit(start + 5 * kSuperpageBytes + kBasePageBytes, 400 * kBasePageBytes);
  EXPECT_EQ(counters.demotions.get(), 0u);
  pages.decommit(start + 6 * kSuperpageBytes + kBasePageBytes, 450 * kBasePageBytes);
  EXPECT_EQ(counters.demotions.get(), 1u);
  EXPECT_EQ(FakeOs::split, std::set<const char *>{thin}); // the emptiest
  const char *idle = FakeOs::idle_of_split[thin];
  EXPECT_TRUE(idle >= thin + 2 * kBasePageBytes && idle < thin + 502 * kBasePageBytes);
  EXPECT_EQ(thin[0], 7);
  EXPECT_EQ(thick[0], 7);
  EXPECT_EQ(counters.superpages_now.get(), kUnits - 1);
  EXPECT_GE(counters.pages_released.get(), 500u);
  ASSERT_TRUE(pages.check_invariants());
  // When it is full again, it is promoted again.
  pages.commit(thin, kSuperpageBytes);
  EXPECT_EQ(pages.promote_all(price), kUnits);
  ASSERT_TRUE(pages.check_invariants());
}
TEST_F(SmallPagesTest, NothingIsDemotedWhereItIsOff) {
  SmallPages kept;
  SmallPages::Config c;
  c.base = Slice::kClass;
  c.idle_percent = 0;
  ASSERT_TRUE(kept.init(region, c));
  char *start = kept.grow(8 * kSuperpageBytes, kBasePageBytes, 1);
  kept.commit(start, 8 * kSuperpageBytes);
  ASSERT_EQ(kept.promote_all(price), 8u);
  for (unsigned i = 0; i < 8; i++)
    kept.decommit(start + i * kSuperpageBytes + kBasePageBytes, 510 * kBasePageBytes);
  EXPECT_EQ(counters.demotions.get(), 0u);
  EXPECT_EQ(counters.superpages_now.get(), 8u);
}
TEST_F(SmallPagesTest, SuperpageAtFirstTouchComesBackWhenItIsEmptyAgain) {
  pages.lower_reach(0);
  char *base = pages.grow(60 * kSuperpageBytes, kBasePageBytes, 1);
  pages.commit(base, 60 * kSuperpageBytes); // from 100 MiB on, superpages at first touch
  constexpr size_t kUnits = 30;
  char *start = pages.grow(kUnits * kSuperpageBytes, kBasePageBytes, 1);
  ASSERT_EQ(counters.superpages_at_first_touch.get(), kUnits);
  EXPECT_EQ(counters.superpages_now.get(), 0u); // untouched so far
  EXPECT_EQ(region.charged_superpages(), kUnits);
  pages.commit(start, kUnits * kSuperpageBytes);
  EXPECT_EQ(counters.superpages_now.get(), kUnits);
  for (size_t i = 0; i < kUnits; i++)
    pages.decommit(start + i * kSuperpageBytes + kBasePageBytes, 500 * kBasePageBytes);
  uint64_t demoted = counters.demotions.get();
  EXPECT_GT(demoted, 15u);
  EXPECT_EQ(counters.superpages_now.get(), kUnits - demoted);
  EXPECT_EQ(counters.mappings.get(), demoted);
  ASSERT_TRUE(pages.check_invariants());
  pages.decommit(start, kUnits * kSuperpageBytes);
  EXPECT_EQ(counters.superpages_now.get(), 0u);   // all are released,
  EXPECT_EQ(region.charged_superpages(), kUnits); // and each comes back at its next use
  EXPECT_EQ(counters.mappings.get(), 0u);
  ASSERT_TRUE(pages.check_invariants());
  for (size_t i = 0; i < kUnits; i += 2)
    pages.commit(start + i * kSuperpageBytes, kBasePageBytes);
  EXPECT_EQ(counters.superpages_now.get(), kUnits / 2);
  EXPECT_EQ(region.charged_superpages(), kUnits);
  ASSERT_TRUE(pages.check_invariants());
}
TEST_F(SmallPagesTest, SparseGrowthGetsNoSuperpagesAtFirstTouch) {
  pages.lower_reach(0);
  size_t touched = kPagesPerUnit / 4; // buffers of which the first page is used
  FakeOs::resident = [&](const char *) { return touched; };
  auto grow_full = [&](int units) {
    for (int i = 0; i < units; i++)
      pages.commit(pages.grow(kSuperpageBytes, kBasePageBytes, 1), kSuperpageBytes);
  };
  grow_full(100);
  EXPECT_EQ(counters.superpages_at_first_touch.get(), 0u);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
  touched = kPagesPerUnit; // now they are used whole
  grow_full(80);
  EXPECT_EQ(counters.superpages_at_first_touch.get(), 70u); // every eighth is a probe
  touched = 0;                                              // the probes are no longer touched
  grow_full(80);
  EXPECT_EQ(counters.superpages_at_first_touch.get(), 70u);
}
} // namespace
} // namespace smalloc
