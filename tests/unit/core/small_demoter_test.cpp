// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// small_demoter_test.cpp tests superpages at first touch that small objects have lost. They come
// back within the budget only. A refusal of the kernel leaves the advice against them.
#include "smalloc/small/small_pages.h"
#include "tests/unit/core/fake_os.h"

#include <errno.h>
#include <gtest/gtest.h>

namespace smalloc {
namespace {

/// Makes four superpages at first touch, which use up the budget, and demotes the third.
struct SmallDemoterTest : testing::Test {
  static constexpr size_t kUnits = 4;
  virtual ThpMode thp() const { return ThpMode::kMadvise; }
  virtual size_t superpages_allowed() const { return kUnits; }
  void SetUp() override {
    FakeOs::reset();
    Region::Config config = FakeOs::config();
    config.thp = thp();
    config.budget.bytes = superpages_allowed() * kSuperpageBytes;
    ASSERT_TRUE(region.init(config, counters));
    SmallPages::Config c;
    c.has_super = true;
    c.superpages_at_first_touch = true;
    ASSERT_TRUE(pages.init(region, c));
    pages.lower_reach(0);
    char *start = pages.grow(kUnits * kSuperpageBytes, kBasePageBytes, 1);
    pages.commit(start, kUnits * kSuperpageBytes);
    ASSERT_EQ(counters.superpages_at_first_touch.get(), kUnits);
    lost = start + 2 * kSuperpageBytes;
    pages.decommit(start + kSuperpageBytes, 200 * kBasePageBytes);
    pages.decommit(lost + kBasePageBytes, (kPagesPerUnit - 1) * kBasePageBytes);
    ASSERT_EQ(FakeOs::split, std::set<const char *>{lost});
    const char *idle = FakeOs::idle_of_split[lost]; // all but the first page are idle
    ASSERT_TRUE(idle > lost && idle < lost + kSuperpageBytes);
    ASSERT_EQ(counters.superpages_now.get(), kUnits - 1);
    ASSERT_EQ(counters.mappings.get(), 1u);
    ASSERT_FALSE(is_advised());
  }
  bool is_advised() const { return FakeOs::advised.count(lost) != 0; }
  void fill_and_promote() {
    pages.commit(lost, kSuperpageBytes);
    ASSERT_TRUE(pages.pending());
    pages.promote(price, UINT64_MAX, true);
    ASSERT_TRUE(pages.check_invariants());
  }
  Counters counters;
  Region region;
  SmallPages pages;
  Price price;
  char *lost = nullptr;
};

TEST_F(SmallDemoterTest, AnEmptyUnitStaysOnBasePagesWhileOthersHaveItsSuperpage) {
  ASSERT_TRUE(region.charge_superpages(1));
  pages.decommit(lost, kSuperpageBytes);
  EXPECT_EQ(counters.superpages_now.get(), kUnits - 1);
  EXPECT_EQ(counters.mappings.get(), 1u);
  EXPECT_FALSE(is_advised());
  ASSERT_TRUE(pages.check_invariants());
  // When it is used again, it is collapsed as soon as the budget has room, and not before.
  fill_and_promote();
  EXPECT_EQ(FakeOs::collapsed.count(lost), 0u);
  EXPECT_FALSE(is_advised());
  region.uncharge_superpages(1);
  pages.promote(price, UINT64_MAX, true);
  EXPECT_EQ(FakeOs::collapsed.count(lost), 1u);
  EXPECT_EQ(counters.superpages_now.get(), kUnits);
  EXPECT_EQ(counters.mappings.get(), 0u);
  EXPECT_TRUE(is_advised());
}

struct RoomySmallDemoterTest : SmallDemoterTest {
  size_t superpages_allowed() const override { return kUnits + 1; }
};
TEST_F(RoomySmallDemoterTest, AUnitThatIsEmptiedWhileItIsRefusedKeepsItsAdvice) {
  pages.commit(lost, kSuperpageBytes);
  FakeOs::collapse_result = [&](char *) {
    pages.decommit(lost, kSuperpageBytes); // like another thread
    return EAGAIN;
  };
  pages.promote(price, UINT64_MAX, true);
  EXPECT_EQ(region.charged_superpages(), kUnits); // its next use makes it a superpage
  EXPECT_TRUE(is_advised());
  EXPECT_EQ(counters.mappings.get(), 0u);
  ASSERT_TRUE(pages.check_invariants());
}

TEST_F(SmallDemoterTest, AnEmptyUnitGetsItsSuperpageBack) {
  pages.decommit(lost, kSuperpageBytes);
  EXPECT_EQ(counters.superpages_now.get(), kUnits - 1); // from its next use on
  EXPECT_EQ(region.charged_superpages(), kUnits);
  EXPECT_EQ(counters.mappings.get(), 0u);
  EXPECT_TRUE(is_advised());
  pages.commit(lost, kBasePageBytes);
  EXPECT_EQ(counters.superpages_now.get(), kUnits);
}

TEST_F(SmallDemoterTest, ARefusedCollapseLeavesTheAdviceAgainstSuperpages) {
  FakeOs::collapse_result = [](char *) { return EAGAIN; };
  fill_and_promote();
  EXPECT_FALSE(is_advised());
  EXPECT_EQ(counters.superpages_now.get(), kUnits - 1);
  EXPECT_EQ(counters.mappings.get(), 1u);
  FakeOs::collapse_result = [](char *) { return 0; };
  pages.promote(price, UINT64_MAX, true);
  EXPECT_TRUE(is_advised());
  EXPECT_EQ(counters.superpages_now.get(), kUnits);
  EXPECT_EQ(counters.mappings.get(), 0u);
}

// A unit that is demoted and promoted leaves no mapping charged, with THP=always or not.
struct SmallDemoterAlwaysTest : SmallDemoterTest {
  ThpMode thp() const override { return ThpMode::kAlways; }
};
TEST_F(SmallDemoterAlwaysTest, MappingsComeBackHoweverOftenAUnitGoesAndComes) {
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(counters.mappings.get(), 1u);
    fill_and_promote();
    EXPECT_EQ(FakeOs::collapsed.count(lost), 1u);
    EXPECT_EQ(counters.superpages_now.get(), kUnits);
    EXPECT_EQ(region.charged_superpages(), kUnits);
    EXPECT_EQ(counters.mappings.get(), 0u);
    EXPECT_TRUE(is_advised());
    pages.decommit(lost + kBasePageBytes, (kPagesPerUnit - 1) * kBasePageBytes);
  }
}

} // namespace
} // namespace smalloc
