// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// broken_superpages_test.cpp tests that superpages broken by a fork are made again, within the
// credit.
#include "smalloc/pages/broken_superpages.h"
#include "tests/unit/core/fake_os.h"

#include <gtest/gtest.h>
#include <map>

namespace smalloc {
namespace {

constexpr uint64_t kMs = 1000000, kMany = 1000 * kMs;

struct BrokenSuperpagesTest : testing::Test {
  static constexpr unsigned kUnits = 4;
  static inline std::map<const char *, UnitPages> pages; ///< of the counted units
  static inline char *start;
  static inline bool forks;

  void SetUp() override {
    FakeOs::reset();
    FakeOs::collapse_cost_ns = kMs;
    pages.clear();
    forks = false;
    Region::Config config = FakeOs::config();
    config.pending = &pending;
    ASSERT_TRUE(region.init(config, counters));
    start = region.unit_address(Slice::kBigSuper, 0);
    region.got_superpages(kUnits);
    FakeOs::unit_pages = [](const char *unit) {
      FakeOs::clock_ns += 10000;
      return pages.at(unit);
    };
    FakeOs::collapse_result = [](char *unit) {
      pages[unit] = UnitPages::kSuperpage;
      return 0;
    };
    broken.init(region,
                {[](uint64_t &from) -> char * {
                   for (; from < kUnits; from++)
                     if (pages.count(start + from * kSuperpageBytes))
                       return start + from++ * kSuperpageBytes;
                   return nullptr;
                 },
                 [](const char *unit) { return pages.count(unit) != 0; }, [] { return forks; }});
  }
  void all_are(UnitPages kind) {
    for (unsigned i = 0; i < kUnits; i++)
      pages[start + i * kSuperpageBytes] = kind;
  }
  void round() { broken.mend(kMany, kMany, price); }
  /// Returns the rounds until no unit waits any more.
  unsigned wait(unsigned most) {
    for (unsigned rounds = 0;; FakeOs::clock_ns += kMs) {
      if (!broken.waits() || rounds == most)
        return rounds;
      if (broken.due()) {
        round();
        rounds++;
      }
    }
  }

  Region region;
  Counters counters;
  Price price;
  BrokenSuperpages broken;
  unsigned pending = 0;
};

TEST_F(BrokenSuperpagesTest, WhatTheChildHasLeftIsMadeAgain) {
  broken.forked(false);
  EXPECT_EQ(pending, 1u);
  EXPECT_TRUE(broken.wants_helper());
  EXPECT_FALSE(broken.due()) << "a child may be about to become another program";
  all_are(UnitPages::kBasePages);
  EXPECT_EQ(wait(9), 1u);
  EXPECT_EQ(FakeOs::collapsed.size(), kUnits);
  EXPECT_EQ(counters.superpages_mended.get(), kUnits);
  EXPECT_EQ(counters.superpages_broken.get(), 0u);
  EXPECT_EQ(pending, 0u);
}
TEST_F(BrokenSuperpagesTest, WhatTheChildSharesIsNotCopied) {
  broken.forked(false);
  all_are(UnitPages::kSharedBasePages);
  pages[start] = UnitPages::kSharedSuperpage;
  const uint64_t began = FakeOs::clock_ns;
  EXPECT_EQ(wait(5), 5u);
  EXPECT_TRUE(FakeOs::collapsed.empty());
  EXPECT_EQ(counters.superpages_broken.get(), kUnits - 1) << "the statistics say what is so";
  EXPECT_GE(FakeOs::clock_ns - began, 31 * 50 * kMs) << "each pause is twice the one before";
  all_are(UnitPages::kBasePages);
  EXPECT_EQ(wait(9), 1u);
  EXPECT_EQ(FakeOs::collapsed.size(), kUnits);
  EXPECT_EQ(counters.superpages_broken.get(), 0u);
}
TEST_F(BrokenSuperpagesTest, ASharedSuperpageMayBreakLater) {
  broken.forked(false);
  all_are(UnitPages::kSharedSuperpage);
  EXPECT_EQ(wait(2), 2u);
  EXPECT_TRUE(broken.waits());
  all_are(UnitPages::kSuperpage);
  EXPECT_EQ(wait(9), 1u);
  EXPECT_TRUE(FakeOs::collapsed.empty());
}
TEST_F(BrokenSuperpagesTest, AChildThatStaysIsNotWatchedForEver) {
  broken.forked(false);
  all_are(UnitPages::kSharedBasePages);
  EXPECT_LT(wait(40), 20u);
  EXPECT_EQ(pending, 0u);
  broken.forked(false); // the next fork begins anew
  all_are(UnitPages::kBasePages);
  EXPECT_EQ(wait(9), 1u);
  EXPECT_EQ(counters.superpages_mended.get(), kUnits);
}
TEST_F(BrokenSuperpagesTest, NoCollapseIsNotPaidFor) {
  broken.forked(false);
  all_are(UnitPages::kBasePages);
  FakeOs::clock_ns += 60 * kMs;
  for (unsigned i = 0; i < 29; i++) // a collapse is expected to take 1.45 ms
    broken.mend(kMs / 20, kMany, price);
  EXPECT_EQ(FakeOs::collapsed.size(), 1u);
  broken.mend(kMs / 20, kMany, price);
  EXPECT_EQ(FakeOs::collapsed.size(), 1u);
}
TEST_F(BrokenSuperpagesTest, AForkIsNotHeldUp) {
  broken.forked(false);
  all_are(UnitPages::kBasePages);
  FakeOs::clock_ns += 60 * kMs;
  forks = true;
  round();
  EXPECT_TRUE(FakeOs::collapsed.empty());
  forks = false;
  broken.mend(kMany, kMs, price);
  EXPECT_EQ(FakeOs::collapsed.size(), 1u) << "one takes longer than the pause";
}
TEST_F(BrokenSuperpagesTest, WhatIsFreedMeanwhileIsSplitAgain) {
  broken.forked(false);
  all_are(UnitPages::kBasePages);
  FakeOs::collapse_result = [](char *unit) {
    pages.erase(unit);
    return 0;
  };
  wait(9);
  EXPECT_EQ(FakeOs::split.size(), kUnits);
  EXPECT_EQ(counters.superpages_mended.get(), 0u);
}
TEST_F(BrokenSuperpagesTest, ARefusalIsTriedAgain) {
  broken.forked(false);
  all_are(UnitPages::kBasePages);
  FakeOs::collapse_result = [](char *) { return ENOMEM; };
  EXPECT_EQ(wait(2), 2u);
  EXPECT_EQ(counters.superpages_broken.get(), kUnits);
  FakeOs::collapse_result = [](char *unit) {
    pages[unit] = UnitPages::kSuperpage;
    return 0;
  };
  EXPECT_EQ(wait(9), 1u);
  EXPECT_EQ(counters.superpages_mended.get(), kUnits);
}
TEST_F(BrokenSuperpagesTest, PagesOfNobodyStayNobodys) {
  broken.forked(false);
  all_are(UnitPages::kPartly); // released by the program
  EXPECT_EQ(wait(9), 1u);
  EXPECT_TRUE(FakeOs::collapsed.empty());
}
TEST_F(BrokenSuperpagesTest, WithoutSuperpagesAForkIsNothing) {
  region.lost_superpages(kUnits);
  broken.forked(false);
  EXPECT_FALSE(broken.waits());
  EXPECT_EQ(pending, 0u);
}
TEST_F(BrokenSuperpagesTest, AChildStartsNoHelper) {
  broken.forked(true);
  EXPECT_TRUE(broken.waits());
  EXPECT_FALSE(broken.wants_helper());
}
TEST_F(BrokenSuperpagesTest, AHandlerThatForksStartsNoHelper) {
  broken.forked(false, true);
  EXPECT_TRUE(broken.waits());
  broken.forked(false, false);
  EXPECT_FALSE(broken.wants_helper()) << "it may fork again while it interrupts an allocation";
}
TEST_F(BrokenSuperpagesTest, CountingChangesNothing) {
  broken.forked(false);
  all_are(UnitPages::kSharedBasePages);
  pages[start] = UnitPages::kBasePages;
  broken.count();
  EXPECT_EQ(counters.superpages_broken.get(), kUnits);
  EXPECT_TRUE(FakeOs::collapsed.empty());
}

} // namespace
} // namespace smalloc
