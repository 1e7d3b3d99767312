// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What first touches cost is scripted: superpages at birth while they are cheap, a loss that stays within a hundredth of the time, and
// objects that have what was cheap.
#include "smalloc/core/big_objects.h"
#include "smalloc/core/mapped_ranges.h"
#include "smalloc/core/small_pages.h"
#include "tests/unit/core/fake_os.h"

#include <gtest/gtest.h>

namespace smalloc {
namespace {
constexpr uint64_t kCheapNs = 100000, kDearNs = 4600000, kBaseNs = 600000;

struct BirthPriceTest : testing::Test {
  void SetUp() override {
    FakeOs::reset();
    FakeOs::populate = [this](char *) {
      const uint64_t ns = populated++ < cheap ? kCheapNs : dear_ns;
      FakeOs::clock_ns += ns;
      return ns;
    };
    FakeOs::first_touch = [this] { return base_ns[std::min<size_t>(base_looks++, 1)]; };
    price.init(FakeOs::hooks(), "/sys");
  }
  UnitIndex touch(UnitIndex units) { return price.touch(nullptr, units); }
  uint64_t cheap = UINT64_MAX, populated = 0, dear_ns = kDearNs, base_ns[2] = {kBaseNs, kBaseNs};
  size_t base_looks = 0;
  BirthPrice price;
};

TEST_F(BirthPriceTest, CheapOnesAreAllTouchedOnce) {
  EXPECT_EQ(touch(512), 512u);
  EXPECT_EQ(populated, 512u);
  EXPECT_EQ(base_looks, 0u); // nothing to compare
  EXPECT_FALSE(price.is_dear());
  EXPECT_EQ(price.touched_units(), 512u);
  EXPECT_EQ(price.touched_ns(), 512 * kCheapNs);
}

TEST_F(BirthPriceTest, TheFirstDearOneEndsItWhereNothingWasSaved) {
  cheap = 0;
  EXPECT_EQ(touch(512), 1u);
  EXPECT_TRUE(price.is_dear());
  EXPECT_EQ(price.touched_units(), 1u);
  EXPECT_EQ(price.touched_ns(), kDearNs);
}

TEST_F(BirthPriceTest, AFewAreTouchedThatNobodyAsksThePriceOf) {
  price.sample(nullptr, 512); // nobody wants to know
  EXPECT_EQ(populated, 0u);
  price.tell_sampled();
  price.sample(nullptr, BirthPrice::kLeastSampled - 1); // too much of it
  EXPECT_EQ(populated, 0u);
  for (uint64_t i = 0; i < 2 * BirthPrice::kMostSampled; i++)
    price.sample(nullptr, 512);
  EXPECT_EQ(populated, BirthPrice::kMostSampled);
  EXPECT_EQ(price.touched_units(), BirthPrice::kMostSampled);
  EXPECT_EQ(price.touched_ns(), BirthPrice::kMostSampled * kCheapNs);
  EXPECT_FALSE(price.is_dear());
}

TEST_F(BirthPriceTest, WhatCannotBeTouchedIsNotCounted) {
  FakeOs::populate = [](char *) { return uint64_t{0}; };
  price.tell_sampled();
  price.sample(nullptr, 512);
  EXPECT_EQ(price.touched_units(), 0u);
}

TEST_F(BirthPriceTest, NeverDearerThanBasePages) {
  // A dear one loses 4 ms, a cheap one saves 0.5: of what 64 save, half is lost before it ends.
  cheap = 64;
  EXPECT_EQ(touch(512), 64u + 5);
  EXPECT_LT(64 * kCheapNs + 5 * kDearNs, (64 + 5) * kBaseNs);
}

TEST_F(BirthPriceTest, LosesAHundredthOfTheTimeAtMost) {
  cheap = 0;
  const uint64_t began = FakeOs::clock_ns;
  uint64_t lost = 0;
  for (int i = 0; i < 20000; i++) {
    FakeOs::clock_ns += 1000000;
    if (!price.is_dear()) {
      EXPECT_EQ(touch(512), 1u);
      lost += kDearNs - kBaseNs;
    }
  }
  EXPECT_GT(lost, 0u);
  EXPECT_LE(lost, (FakeOs::clock_ns - began) / 100 + kDearNs);
}

TEST_F(BirthPriceTest, IsTriedAgainAndCheapThen) {
  cheap = 0;
  touch(2);
  FakeOs::clock_ns += BirthPrice::kPauseTimesLoss * (kDearNs - kBaseNs);
  cheap = UINT64_MAX;
  EXPECT_FALSE(price.is_dear());
  EXPECT_EQ(touch(512), 512u);
}

TEST_F(BirthPriceTest, WhatCostsLessThanTwiceBasePagesIsCheap) {
  cheap = 0;
  dear_ns = 2 * kBaseNs;
  EXPECT_EQ(touch(9), 9u);
  EXPECT_FALSE(price.is_dear());
}

TEST_F(BirthPriceTest, WhatBasePagesCostIsAskedSeldom) {
  cheap = 0;
  dear_ns = 2 * kBaseNs;
  FakeOs::first_touch = [this] {
    base_looks++;
    FakeOs::clock_ns += kBaseNs;
    return kBaseNs;
  };
  for (int i = 0; i < 1000; i++)
    EXPECT_EQ(touch(1), 1u);
  EXPECT_LE(base_looks, 1 + 1000 * dear_ns / (BirthPrice::kPauseTimesLoss * kBaseNs));
}

TEST_F(BirthPriceTest, BasePagesThatAreDearByChanceDoNotCount) {
  cheap = 0;
  base_ns[0] = 5000000;
  EXPECT_EQ(touch(9), 1u);
}

TEST_F(BirthPriceTest, WhereAllMemoryIsDearSuperpagesAreCheap) {
  cheap = 0;
  base_ns[0] = base_ns[1] = 5000000;
  EXPECT_EQ(touch(9), 9u);
}

TEST_F(BirthPriceTest, WhatCannotBeFoundOutIsCheap) {
  cheap = 0;
  dear_ns = 0;
  EXPECT_EQ(touch(9), 9u);
  EXPECT_EQ(populated, 1u);
  dear_ns = kDearNs;
  base_ns[0] = base_ns[1] = 0;
  EXPECT_EQ(touch(9), 9u);
  BirthPrice without;
  EXPECT_EQ(without.touch(nullptr, 9), 9u);
  EXPECT_FALSE(without.is_dear());
}

TEST_F(BirthPriceTest, ManyThatWereCheapAreTrusted) {
  EXPECT_EQ(touch(3000), 3000u);
  EXPECT_EQ(populated, BirthPrice::kMostUnits);
  EXPECT_EQ(touch(3000), 3000u);
  EXPECT_EQ(populated, BirthPrice::kMostUnits + BirthPrice::kMostTrusted);
}

TEST_F(BirthPriceTest, WithSeveralNodesOthersTouchFirst) {
  FakeOs::files["/sys/devices/system/node/online"] = "0-1\n";
  EXPECT_EQ(touch(3000), 3000u);
  EXPECT_EQ(populated, BirthPrice::kMostOfNodes);
}

struct DearBirthsTest : BirthPriceTest {
  void SetUp() override { start(ThpMode::kMadvise); }
  void start(ThpMode thp) {
    BirthPriceTest::SetUp();
    Region::Config config = FakeOs::config();
    config.pending = &pending;
    config.thp = thp;
    ASSERT_TRUE(region.init(config, counters));
    FakeOs::make_ladder(ladder, counters);
    BigObjects::Config big_config{64 << 20};
    big_config.birth = &price;
    ASSERT_TRUE(big.init(region, ladder, big_config));
    SmallPages::Config small;
    small.has_super = true;
    small.birth = &price;
    ASSERT_TRUE(pages.init(region, small));
  }
  char *make(size_t units, bool if_cheap = true) {
    BigRequest r;
    r.bytes = units * kSuperpageBytes - 65536; // room for where it starts
    r.whole_superpages = true;
    r.superpages_at_birth = true;
    r.if_cheap = if_cheap;
    return static_cast<char *>(big.allocate(r));
  }
  uint64_t dear() const {
    return counters
        .not_on[static_cast<unsigned>(PageKind::kSuperpage)][static_cast<unsigned>(WhyNot::kDear)]
        .get();
  }
  unsigned pending = 0;
  Counters counters;
  Region region;
  Ladder ladder;
  BigObjects big;
  SmallPages pages;
};

TEST_F(DearBirthsTest, KeepWhatWasCheapAndWaitForTheRest) {
  cheap = 64;
  const auto advised_against = [](char *p) { return FakeOs::refused.count(p) == 1; };
  char *p = make(200), *unit = region.unit_address(Slice::kBigSuper, 0);
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(region.slice_of(p), Slice::kBigSuper);
  EXPECT_EQ(counters.superpages_at_birth.get(), 69u);
  EXPECT_EQ(counters.superpages_now.get(), 69u);
  EXPECT_TRUE(advised_against(unit + 69 * kSuperpageBytes));
  EXPECT_EQ(dear(), 1u);
  EXPECT_EQ(pending, 1u);
  EXPECT_FALSE(ladder.wants_to_warn()); // it is better so
  ASSERT_TRUE(big.check_invariants());

  UnitIndex cursor = 0;
  Price collapse;
  ASSERT_EQ(big.next_pending(cursor).object, big.find(p).object);
  big.promote(big.find(p), collapse, UINT64_C(1) << 40, UINT64_MAX, false);
  EXPECT_EQ(FakeOs::collapsed.size(), 200u - 69);
  EXPECT_EQ(FakeOs::advised.count(unit + 69 * kSuperpageBytes),
            1u); // where it is not, a collapse is EINVAL
  EXPECT_EQ(counters.superpages_now.get(), 200u);
  EXPECT_EQ(pending, 0u);
  ASSERT_TRUE(big.check_invariants());

  EXPECT_TRUE(big.release(p)); // nothing of it is kept, since it has advice of its own
  ASSERT_TRUE(big.check_invariants());
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
  EXPECT_EQ(counters.mappings.get(), 0u);
}

TEST_F(DearBirthsTest, ThatCannotBePromotedStayAsTheyAre) {
  cheap = 64;
  FakeOs::collapse_result = [](char *) { return ENOMEM; };
  char *p = make(200), *unit = region.unit_address(Slice::kBigSuper, 0);
  const uint64_t mappings = counters.mappings.get();
  Price collapse;
  big.promote(big.find(p), collapse, UINT64_C(1) << 40, UINT64_MAX, false);
  EXPECT_EQ(counters.superpages_now.get(), 69u);
  EXPECT_EQ(counters.mappings.get(), mappings);
  EXPECT_EQ(FakeOs::advised.count(unit + 69 * kSuperpageBytes), 0u);
  EXPECT_EQ(pending, 1u);
  EXPECT_TRUE(big.release(p));
  EXPECT_EQ(pending, 0u);
  EXPECT_EQ(counters.mappings.get(), 0u);
}

TEST_F(DearBirthsTest, CountTheSameWhereSuperpagesAreTheRule) {
  start(ThpMode::kAlways);
  cheap = 64;
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

TEST_F(DearBirthsTest, AreResizedInPlaceOrByCopying) {
  cheap = 64;
  char *p = make(200);
  EXPECT_EQ(big.resize(p, 100 * kSuperpageBytes), p);
  ASSERT_TRUE(big.check_invariants());
  EXPECT_EQ(counters.superpages_now.get(), 69u);
  make(1, false); // behind it
  make(120, false);
  EXPECT_EQ(big.resize(p, 300 * kSuperpageBytes), nullptr);
  EXPECT_EQ(counters.moves.get(), 0u);
  EXPECT_EQ(big.resize(p, 30 * kSuperpageBytes), p);
  ASSERT_TRUE(big.check_invariants());
}

TEST_F(DearBirthsTest, StayWhereTheAdviceIsRefused) {
  cheap = 64;
  region.advise_slice(Slice::kBigSuper); // with success
  FakeOs::advise_error = EINVAL;
  char *p = make(200);
  EXPECT_EQ(counters.superpages_now.get(), 200u);
  EXPECT_EQ(pending, 0u);
  EXPECT_EQ(counters.mappings.get(), 2u);
  EXPECT_TRUE(big.release(p));
}

TEST_F(DearBirthsTest, ComeWhereSomebodyInsists) {
  cheap = 0;
  EXPECT_EQ(region.slice_of(make(32, false)), Slice::kBigSuper);
  EXPECT_EQ(populated, 0u);
}

TEST_F(DearBirthsTest, AreSampledWhereSomebodyInsistsAndWantsToKnow) {
  price.tell_sampled();
  make(32, false); // which may never be written
  EXPECT_EQ(populated, 0u);
  BigRequest r;
  r.bytes = 32 * kSuperpageBytes - 65536;
  r.superpages_at_birth = r.whole_superpages = r.written = true;
  char *p = static_cast<char *>(big.allocate(r));
  EXPECT_EQ(populated, 1u);
  EXPECT_EQ(price.touched_units(), 1u);
  EXPECT_EQ(counters.superpages_now.get(), 64u);
  big.release(p);
  make(64); // more than what is kept of it; has a price, which is looked at in any case
  EXPECT_EQ(price.touched_units(), populated);
  EXPECT_EQ(populated, 1u + 64);
}

TEST_F(DearBirthsTest, AreOnBasePagesForAWhileButForWhatIsKept) {
  char *p = make(1);
  big.release(make(200)); // the peak, which says how much is kept
  big.release(p);
  cheap = 0;
  make(32);
  EXPECT_EQ(counters.superpages_now.get(), 2u); // one that is kept, one that was dear
  const uint64_t before = populated;
  char *again = make(1);
  ASSERT_EQ(region.slice_of(again), Slice::kBigSuper);
  EXPECT_EQ(region.unit_of(Slice::kBigSuper, again), region.unit_of(Slice::kBigSuper, p));
  EXPECT_EQ(region.slice_of(make(1)), Slice::kBigBase);
  EXPECT_EQ(populated, before);
  EXPECT_EQ(dear(), 2u);
}

TEST_F(DearBirthsTest, AreNotTouchedWhereWhatIsKeptDoesNotFit) {
  char *p = make(1);
  big.release(make(200));
  big.release(p);
  cheap = 0;
  make(32);
  const uint64_t before = populated;
  BigRequest r;
  r.bytes = kSuperpageBytes + 65536; // its tail needs the next unit, which is taken
  r.superpages_at_birth = r.if_cheap = true;
  char *other = static_cast<char *>(big.allocate(r));
  EXPECT_EQ(region.slice_of(other), Slice::kBigSuper);
  EXPECT_EQ(populated, before);
  EXPECT_EQ(counters.superpages_now.get(), 2u);
  ASSERT_TRUE(big.check_invariants());
}

TEST_F(DearBirthsTest, KeepHeapsOfSmallObjectsOnBasePages) {
  pages.lower_reach(0);
  const auto grow = [this](int units) {
    for (int i = 0; i < units; i++)
      ASSERT_TRUE(pages.commit(pages.grow(kSuperpageBytes, kBasePageBytes, 1), kSuperpageBytes));
  };
  grow(60);
  const uint64_t some = counters.superpages_at_birth.get();
  EXPECT_GT(some, 5u);
  cheap = 0;
  grow(200);
  EXPECT_EQ(counters.superpages_at_birth.get(), some + 1);
}

TEST_F(DearBirthsTest, OfTheProgramsOwnMappingsAreAdvisedAsFar) {
  MappedRanges ranges;
  MappedRanges::Config config;
  config.os = &FakeOs::hooks();
  config.pending = &pending;
  ranges.init(config, counters);
  cheap = 64;
  char *start = reinterpret_cast<char *>(size_t{1} << 40);
  ranges.born(start, 200 * kSuperpageBytes, true, &price);
  EXPECT_EQ(counters.mapped_superpages_advised.get(), 69u);
  EXPECT_EQ(dear(), 1u);
  EXPECT_EQ(FakeOs::advised.size(), 69u);
  EXPECT_EQ(pending, 1u);
  ranges.born(start + 400 * kSuperpageBytes, 8 * kSuperpageBytes, true, &price);
  EXPECT_EQ(FakeOs::advised.size(), 69u);
  EXPECT_EQ(pending, 2u);
  ranges.born(start + 800 * kSuperpageBytes, 8 * kSuperpageBytes, true, &price,
              false); // promote:off
  EXPECT_EQ(pending, 2u);
}

} // namespace
} // namespace smalloc
