// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// first_touch_cost_test.cpp tests the first-touch guard with scripted costs of first touches.
// Superpages come at first touch while they pay. Losses stay within the allowance and a hundredth
// of the time. An object keeps the superpages that it has got.
#include "smalloc/big/big_objects.h"
#include "smalloc/pages/mapped_ranges.h"
#include "smalloc/small/small_pages.h"
#include "tests/unit/core/fake_os.h"

#include <gtest/gtest.h>

namespace smalloc {
namespace {
constexpr uint64_t kCheapNs = 100000, kExpensiveTouchNs = 4600000, kBaseNs = 600000;

struct FirstTouchCostTest : testing::Test {
  void SetUp() override {
    FakeOs::reset();
    FakeOs::populate = [this](char *) {
      const uint64_t ns = populated++ < cheap ? kCheapNs : expensive_ns;
      FakeOs::clock_ns += ns;
      return ns;
    };
    FakeOs::first_touch = [this] {
      base_looks++;
      FakeOs::clock_ns += base_ns;
      return base_ns;
    };
    price.init(FakeOs::hooks());
  }
  UnitIndex touch(UnitIndex units) { return price.touch(nullptr, units); }
  uint64_t cheap = UINT64_MAX, populated = 0, expensive_ns = kExpensiveTouchNs, base_ns = kBaseNs;
  size_t base_looks = 0;
  FirstTouchCost price;
};
/// The loss of an expensive superpage and the saving of a cheap one.
constexpr int64_t kLossNs = kExpensiveTouchNs - kBaseNs - FirstTouchCost::kWalksNs;
constexpr int64_t kSavingNs = kBaseNs + FirstTouchCost::kWalksNs - kCheapNs;
/// Returns the expensive superpages until the balance is too low, if `saved_ns` were saved before.
constexpr UnitIndex allowed_after(int64_t saved_ns) {
  return static_cast<UnitIndex>((FirstTouchCost::kAllowanceNs + saved_ns) / kLossNs + 1);
}
constexpr UnitIndex kAllowed = allowed_after(0);

TEST_F(FirstTouchCostTest, PopulatesAFewUnitsOfEachObject) {
  EXPECT_EQ(touch(512), 512u);
  EXPECT_EQ(populated, FirstTouchCost::kMostUnits);
  EXPECT_EQ(base_looks, 0u); // no loss, so no comparison
  EXPECT_FALSE(price.too_expensive());
  EXPECT_EQ(price.touched_units(), FirstTouchCost::kMostUnits);
  EXPECT_EQ(price.touched_ns(), FirstTouchCost::kMostUnits * kCheapNs);
}

TEST_F(FirstTouchCostTest, EndsWhenTheAllowanceIsUsedUp) {
  cheap = 0;
  EXPECT_EQ(touch(512), kAllowed);
  EXPECT_TRUE(price.too_expensive());
  EXPECT_EQ(populated, kAllowed);
}

TEST_F(FirstTouchCostTest, SavingsPayForLosses) {
  // A cheap superpage saves base pages and walks. A few expensive ones between them do not stop
  // superpages.
  cheap = 40;
  for (int i = 0; i < 5; i++)
    EXPECT_EQ(touch(8), 8u);
  EXPECT_EQ(touch(8), 8u); // all of them expensive
  EXPECT_FALSE(price.too_expensive());
  UnitIndex expensive = 8;
  while (!price.too_expensive())
    expensive += touch(8);
  EXPECT_EQ(expensive, allowed_after(40 * kSavingNs));
}

TEST_F(FirstTouchCostTest, SavingsOfALongTimeAreBounded) {
  for (int i = 0; i < 1000; i++)
    EXPECT_EQ(touch(8), 8u);
  cheap = 0;
  UnitIndex expensive = 0;
  while (!price.too_expensive())
    expensive += touch(8);
  EXPECT_EQ(expensive, allowed_after(FirstTouchCost::kMostBalanceNs));
}

TEST_F(FirstTouchCostTest, PopulatesSamplesOnlyWhenEnabled) {
  price.sample(nullptr, 512);
  EXPECT_EQ(populated, 0u);
  price.enable_samples();
  // One unit would be too large a part of the object.
  price.sample(nullptr, FirstTouchCost::kLeastSampled - 1);
  EXPECT_EQ(populated, 0u);
  for (uint64_t i = 0; i < 2 * FirstTouchCost::kMostSampled; i++)
    price.sample(nullptr, 512);
  EXPECT_EQ(populated, FirstTouchCost::kMostSampled);
  EXPECT_EQ(price.touched_units(), FirstTouchCost::kMostSampled);
  EXPECT_EQ(price.touched_ns(), FirstTouchCost::kMostSampled * kCheapNs);
  EXPECT_FALSE(price.too_expensive());
}

TEST_F(FirstTouchCostTest, DoesNotCountWhatCannotBePopulated) {
  FakeOs::populate = [](char *) { return uint64_t{0}; };
  price.enable_samples();
  price.sample(nullptr, 512);
  EXPECT_EQ(price.touched_units(), 0u);
}

TEST_F(FirstTouchCostTest, LosesAHundredthOfTheTimeInTheLongRun) {
  cheap = 0;
  const uint64_t began = FakeOs::clock_ns;
  uint64_t lost = 0;
  for (int i = 0; i < 200000; i++) {
    FakeOs::clock_ns += 1000000;
    if (!price.too_expensive()) {
      const UnitIndex units = touch(512);
      EXPECT_LE(units, kAllowed);
      lost += units * (kExpensiveTouchNs - kBaseNs);
    }
  }
  EXPECT_GT(lost, 0u);
  EXPECT_LE(lost, (FakeOs::clock_ns - began) / 100 + kAllowed * kExpensiveTouchNs);
}

TEST_F(FirstTouchCostTest, TriesOneMoreAfterThePause) {
  cheap = 0;
  touch(8);
  ASSERT_TRUE(price.too_expensive());
  FakeOs::clock_ns += FirstTouchCost::kFirstPauseNs;
  EXPECT_FALSE(price.too_expensive());
  EXPECT_EQ(touch(8), 1u); // still expensive: the pause doubles
  FakeOs::clock_ns += FirstTouchCost::kFirstPauseNs;
  EXPECT_TRUE(price.too_expensive());
  FakeOs::clock_ns += FirstTouchCost::kFirstPauseNs;
  cheap = UINT64_MAX;
  EXPECT_FALSE(price.too_expensive());
  EXPECT_EQ(touch(512), 512u);
}

TEST_F(FirstTouchCostTest, ThePauseDoublesUpToItsLongestAndACheapOneResetsIt) {
  cheap = 0;
  touch(8);
  uint64_t pause = FirstTouchCost::kFirstPauseNs;
  for (int i = 0; i < 10; i++) {
    FakeOs::clock_ns += pause - 1;
    ASSERT_TRUE(price.too_expensive()) << i;
    FakeOs::clock_ns++;
    ASSERT_FALSE(price.too_expensive()) << i;
    EXPECT_EQ(touch(8), 1u); // one more is tried
    pause = std::min(2 * pause, FirstTouchCost::kLongestPauseNs);
  }
  EXPECT_EQ(pause, FirstTouchCost::kLongestPauseNs);
  FakeOs::clock_ns += pause;
  cheap = populated + 1;
  EXPECT_EQ(touch(8), 2u); // the allowance was not restored: the second one ends it
  FakeOs::clock_ns += FirstTouchCost::kFirstPauseNs - 1;
  EXPECT_TRUE(price.too_expensive());
  FakeOs::clock_ns++;
  EXPECT_FALSE(price.too_expensive());
}

TEST_F(FirstTouchCostTest, ACollapseThatSomebodyElseMeasuredCounts) {
  EXPECT_TRUE(price.account(kCheapNs));
  EXPECT_FALSE(price.account(kExpensiveTouchNs * 4));
  EXPECT_TRUE(price.too_expensive());
  EXPECT_EQ(price.touched_units(), 0u); // none was populated here
  EXPECT_TRUE(price.account(0));        // no measurement
}

TEST_F(FirstTouchCostTest, ComparesWithBasePagesAndWalks) {
  cheap = 0;
  expensive_ns = kBaseNs + FirstTouchCost::kWalksNs;
  for (int i = 0; i < 1000; i++)
    EXPECT_EQ(touch(1), 1u);
  EXPECT_FALSE(price.too_expensive());
  // The cost of base pages is measured rarely.
  EXPECT_LE(base_looks, 1 + 1000 * expensive_ns / (FirstTouchCost::kBelieveTimes * kBaseNs));
}

TEST_F(FirstTouchCostTest, SuperpagesAreCheapWhereAllMemoryIsExpensive) {
  cheap = 0;
  base_ns = 5000000;
  for (int i = 0; i < 10; i++)
    EXPECT_EQ(touch(9), 9u);
}

TEST_F(FirstTouchCostTest, TakesWhatCannotBeMeasuredForCheap) {
  cheap = 0;
  expensive_ns = 0;
  EXPECT_EQ(touch(9), 9u);
  EXPECT_EQ(populated, 1u);
  expensive_ns = kExpensiveTouchNs;
  base_ns = 0;
  EXPECT_EQ(touch(9), 9u);
  FirstTouchCost without;
  EXPECT_EQ(without.touch(nullptr, 9), 9u);
  EXPECT_FALSE(without.too_expensive());
}

struct ExpensiveFirstTouchTest : FirstTouchCostTest {
  void SetUp() override { start(ThpMode::kMadvise); }
  void start(ThpMode thp) {
    FirstTouchCostTest::SetUp();
    Region::Config config = FakeOs::config();
    config.pending = &pending;
    config.thp = thp;
    ASSERT_TRUE(region.init(config, counters));
    FakeOs::make_page_fallback(page_fallback, counters);
    BigObjects::Config big_config{64 << 20};
    big_config.first_touch = &price;
    ASSERT_TRUE(big.init(region, page_fallback, big_config));
    SmallPages::Config small;
    small.has_super = true;
    small.first_touch = &price;
    ASSERT_TRUE(pages.init(region, small));
  }
  char *make(size_t units, bool if_cheap = true) {
    BigRequest r;
    r.bytes = units * kSuperpageBytes - 65536; // room for the object's offset
    r.whole_superpages = true;
    r.superpages_at_first_touch = true;
    r.if_cheap = r.written = if_cheap;
    return static_cast<char *>(big.allocate(r));
  }
  /// Superpages that make() keeps if the first two are cheap and the others are not.
  static constexpr UnitIndex kCheap = 2, kKept = kCheap + allowed_after(kCheap * kSavingNs);
  static_assert(kKept < FirstTouchCost::kMostUnits);
  uint64_t expensive() const {
    return counters
        .not_on[static_cast<unsigned>(PageKind::kSuperpage)]
               [static_cast<unsigned>(WhyNot::kExpensive)]
        .get();
  }
  unsigned pending = 0;
  Counters counters;
  Region region;
  PageFallback page_fallback;
  BigObjects big;
  SmallPages pages;
};

TEST_F(ExpensiveFirstTouchTest, KeepWhatWasCheapAndWaitForTheRest) {
  cheap = kCheap;
  const auto advised_against = [](char *p) { return FakeOs::refused.count(p) == 1; };
  char *p = make(200), *unit = region.unit_address(Slice::kBigSuper, 0);
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(region.slice_of(p), Slice::kBigSuper);
  EXPECT_EQ(counters.superpages_at_first_touch.get(), kKept);
  EXPECT_EQ(counters.superpages_now.get(), kKept);
  EXPECT_EQ(populated, kKept);
  EXPECT_TRUE(advised_against(unit + kKept * kSuperpageBytes));
  EXPECT_EQ(expensive(), 1u);
  EXPECT_EQ(pending, 1u);
  EXPECT_FALSE(page_fallback.wants_to_warn()); // the fallback is intended
  ASSERT_TRUE(big.check_invariants());

  UnitIndex cursor = 0;
  Price collapse;
  ASSERT_EQ(big.next_pending(cursor).object, big.find(p).object);
  big.promote(big.find(p), collapse, UINT64_C(1) << 40, UINT64_MAX, false);
  EXPECT_EQ(FakeOs::collapsed.size(), 200u - kKept);
  // Without this advice a collapse fails with EINVAL.
  EXPECT_EQ(FakeOs::advised.count(unit + kKept * kSuperpageBytes), 1u);
  EXPECT_EQ(counters.superpages_now.get(), 200u);
  EXPECT_EQ(pending, 0u);
  ASSERT_TRUE(big.check_invariants());

  EXPECT_TRUE(big.release(p)); // none of its units is kept, since it has advice of its own
  ASSERT_TRUE(big.check_invariants());
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
  EXPECT_EQ(counters.mappings.get(), 0u);
}

TEST_F(ExpensiveFirstTouchTest, ThatCannotBePromotedStayAsTheyAre) {
  cheap = kCheap;
  FakeOs::collapse_result = [](char *) { return ENOMEM; };
  char *p = make(200), *unit = region.unit_address(Slice::kBigSuper, 0);
  const uint64_t mappings = counters.mappings.get();
  Price collapse;
  big.promote(big.find(p), collapse, UINT64_C(1) << 40, UINT64_MAX, false);
  EXPECT_EQ(counters.superpages_now.get(), kKept);
  EXPECT_EQ(counters.mappings.get(), mappings);
  EXPECT_EQ(FakeOs::advised.count(unit + kKept * kSuperpageBytes), 0u);
  EXPECT_EQ(pending, 1u);
  EXPECT_TRUE(big.release(p));
  EXPECT_EQ(pending, 0u);
  EXPECT_EQ(counters.mappings.get(), 0u);
}

TEST_F(ExpensiveFirstTouchTest, CountTheSameWhereSuperpagesAreTheRule) {
  start(ThpMode::kAlways);
  cheap = kCheap;
  char *p = make(200);
  EXPECT_EQ(counters.mappings.get(), 4u);
  Price collapse;
  big.promote(big.find(p), collapse, UINT64_C(1) << 40, UINT64_MAX, false);
  EXPECT_EQ(counters.superpages_now.get(), 200u);
  EXPECT_TRUE(big.release(p));
  EXPECT_EQ(counters.mappings.get(), 0u);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
}

TEST_F(ExpensiveFirstTouchTest, AreResizedInPlaceOrByCopying) {
  cheap = kCheap;
  char *p = make(200);
  EXPECT_EQ(big.resize(p, 100 * kSuperpageBytes), p);
  ASSERT_TRUE(big.check_invariants());
  EXPECT_EQ(counters.superpages_now.get(), kKept);
  make(1, false); // behind it
  make(120, false);
  EXPECT_EQ(big.resize(p, 300 * kSuperpageBytes), nullptr);
  EXPECT_EQ(counters.moves.get(), 0u);
  EXPECT_EQ(big.resize(p, 30 * kSuperpageBytes), p);
  EXPECT_EQ(counters.superpages_now.get(), kKept + 121u);
  ASSERT_TRUE(big.check_invariants());
  EXPECT_EQ(big.resize(p, 3 * kSuperpageBytes), p); // fewer than it had kept
  EXPECT_EQ(counters.superpages_now.get(), 3u + 121u);
  ASSERT_TRUE(big.check_invariants());
}

TEST_F(ExpensiveFirstTouchTest, StayWhereTheAdviceIsRefused) {
  cheap = kCheap;
  region.advise_slice(Slice::kBigSuper); // succeeds
  FakeOs::advise_error = EINVAL;
  const unsigned advices = FakeOs::advices;
  char *p = make(200);
  EXPECT_EQ(populated, kKept);
  EXPECT_EQ(FakeOs::advices, advices + 1); // against the rest, in vain
  EXPECT_EQ(counters.superpages_now.get(), 200u);
  EXPECT_EQ(pending, 0u);
  EXPECT_EQ(counters.mappings.get(), 2u);
  EXPECT_TRUE(big.release(p));
}

TEST_F(ExpensiveFirstTouchTest, ComeWhereSomebodyInsists) {
  cheap = 0;
  EXPECT_EQ(region.slice_of(make(32, false)), Slice::kBigSuper);
  EXPECT_EQ(populated, 0u);
}

TEST_F(ExpensiveFirstTouchTest, AreNotPopulatedWithoutProofThatTheyAreWritten) {
  cheap = 0;
  BigRequest r;
  r.bytes = 32 * kSuperpageBytes - 65536;
  r.superpages_at_first_touch = r.whole_superpages = r.if_cheap = true;
  EXPECT_EQ(region.slice_of(big.allocate(r)), Slice::kBigSuper);
  EXPECT_EQ(populated, 0u);
  EXPECT_EQ(counters.superpages_now.get(), 32u);
  make(32); // other objects measure the cost
  ASSERT_TRUE(price.too_expensive());
  EXPECT_EQ(region.slice_of(big.allocate(r)), Slice::kBigBase);
}

TEST_F(ExpensiveFirstTouchTest, AreSampledWhereSomebodyInsistsAndWantsToKnow) {
  price.enable_samples();
  make(32, false); // may never be written
  EXPECT_EQ(populated, 0u);
  BigRequest r;
  r.bytes = 32 * kSuperpageBytes - 65536;
  r.superpages_at_first_touch = r.whole_superpages = r.written = true;
  char *p = static_cast<char *>(big.allocate(r));
  EXPECT_EQ(populated, 1u);
  EXPECT_EQ(price.touched_units(), 1u);
  EXPECT_EQ(counters.superpages_now.get(), 64u);
  big.release(p);
  make(64); // more than the kept units; its cost is measured in any case
  EXPECT_EQ(price.touched_units(), populated);
  EXPECT_EQ(populated, 1u + FirstTouchCost::kMostUnits);
}

TEST_F(ExpensiveFirstTouchTest, AreOnBasePagesForAWhileButForWhatIsKept) {
  char *p = make(1, false);
  big.release(make(200, false)); // the peak, which limits the kept bytes
  big.release(p);
  cheap = 0;
  make(32);
  // One is kept, the others were too expensive.
  EXPECT_EQ(counters.superpages_now.get(), 1u + kAllowed);
  EXPECT_EQ(expensive(), 1u);
  const uint64_t before = populated;
  EXPECT_EQ(before, kAllowed);
  char *again = make(1);
  ASSERT_EQ(region.slice_of(again), Slice::kBigSuper);
  EXPECT_EQ(region.unit_of(Slice::kBigSuper, again), region.unit_of(Slice::kBigSuper, p));
  EXPECT_EQ(region.slice_of(make(1)), Slice::kBigBase);
  EXPECT_EQ(populated, before);
  EXPECT_EQ(expensive(), 2u);
}

TEST_F(ExpensiveFirstTouchTest, AreNotTouchedWhereWhatIsKeptDoesNotFit) {
  char *p = make(1, false);
  big.release(make(200, false));
  big.release(p);
  cheap = 0;
  make(32);
  const uint64_t before = populated;
  BigRequest r;
  r.bytes = kSuperpageBytes + 65536; // its tail needs the next unit, which is taken
  r.superpages_at_first_touch = r.if_cheap = r.written = true;
  char *other = static_cast<char *>(big.allocate(r));
  EXPECT_EQ(region.slice_of(other), Slice::kBigSuper);
  EXPECT_EQ(populated, before);
  EXPECT_EQ(counters.superpages_now.get(), 1u + kAllowed);
  EXPECT_EQ(expensive(), 2u);
  ASSERT_TRUE(big.check_invariants());
}

TEST_F(ExpensiveFirstTouchTest, KeepHeapsOfSmallObjectsOnBasePages) {
  pages.lower_reach(0);
  const auto grow = [this](int units) {
    for (int i = 0; i < units; i++)
      ASSERT_TRUE(pages.commit(pages.grow(kSuperpageBytes, kBasePageBytes, 1), kSuperpageBytes));
  };
  grow(60);
  const uint64_t some = counters.superpages_at_first_touch.get();
  EXPECT_GT(some, 5u);
  cheap = 0;
  grow(200);
  const uint64_t with_expensive = some + allowed_after(static_cast<int64_t>(some) * kSavingNs);
  EXPECT_EQ(counters.superpages_at_first_touch.get(), with_expensive);
  EXPECT_EQ(populated, with_expensive);
  FakeOs::clock_ns += FirstTouchCost::kFirstPauseNs;
  grow(20);
  EXPECT_EQ(counters.superpages_at_first_touch.get(), with_expensive + 1); // one more was tried
}

TEST_F(ExpensiveFirstTouchTest, TimeOneUnitOfAGrowth) {
  pages.lower_reach(0);
  ASSERT_TRUE(
      pages.commit(pages.grow(60 * kSuperpageBytes, kBasePageBytes, 1), 60 * kSuperpageBytes));
  ASSERT_EQ(populated, 0u);
  cheap = 0;
  char *start = pages.grow(30 * kSuperpageBytes, kBasePageBytes, 1);
  EXPECT_EQ(region.slice_of(start), Slice::kSmallSuper);
  EXPECT_EQ(populated, 1u);
  EXPECT_EQ(counters.superpages_at_first_touch.get(), 30u);
}

TEST_F(ExpensiveFirstTouchTest, SpeakForTheWholeProcess) {
  pages.lower_reach(0);
  ASSERT_TRUE(
      pages.commit(pages.grow(60 * kSuperpageBytes, kBasePageBytes, 1), 60 * kSuperpageBytes));
  cheap = 0;
  for (UnitIndex i = 1; i < kAllowed; i++) { // several objects lose together
    make(1);
    EXPECT_FALSE(price.too_expensive());
  }
  make(1);
  EXPECT_EQ(counters.superpages_at_first_touch.get(), kAllowed);
  EXPECT_EQ(region.slice_of(pages.grow(kSuperpageBytes, kBasePageBytes, 1)), Slice::kSmallBase);
  EXPECT_EQ(populated, kAllowed);
}

TEST_F(ExpensiveFirstTouchTest, OfTheProgramsOwnMappingsAreAdvisedAsFar) {
  MappedRanges ranges;
  MappedRanges::Config config;
  config.os = &FakeOs::hooks();
  config.pending = &pending;
  ranges.init(config, counters);
  cheap = kCheap;
  char *start = reinterpret_cast<char *>(size_t{1} << 40);
  ranges.born(start, 200 * kSuperpageBytes, true, &price);
  EXPECT_EQ(counters.mapped_superpages_advised.get(), kKept);
  EXPECT_EQ(expensive(), 1u);
  EXPECT_EQ(FakeOs::advised.size(), kKept);
  EXPECT_EQ(pending, 1u);
  ranges.born(start + 400 * kSuperpageBytes, 8 * kSuperpageBytes, true, &price);
  EXPECT_EQ(FakeOs::advised.size(), kKept);
  EXPECT_EQ(pending, 2u);
  ranges.born(start + 800 * kSuperpageBytes, 8 * kSuperpageBytes, true, &price,
              false); // promote:off
  EXPECT_EQ(pending, 2u);
}

} // namespace
} // namespace smalloc
