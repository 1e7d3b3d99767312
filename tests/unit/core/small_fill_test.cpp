// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// small_fill_test.cpp tests what small heaps learn from freed memory and from the helper thread:
// units of the base slice get superpages if the program fills what it requests.
#include "tests/unit/core/small_pages_fixture.h"

#include <map>

namespace smalloc {
namespace {
struct SmallFillTest : SmallPagesFixture {
  void SetUp() override {
    SmallPagesFixture::SetUp();
    start();
  }
  void start() {
    start_as_process_malloc(pages);
    FakeOs::resident = [this](const char *p) { return touched.count(p) ? touched[p] : usual; };
    FakeOs::resident_part = [this](const char *p, size_t bytes) {
      const size_t of_unit = FakeOs::resident(p);
      return std::min(of_unit, bytes / kBasePageBytes);
    };
  }
  /// The heap's first growth, on base pages. All of it is in use.
  char *grow_base(size_t units) {
    char *p = pages.grow(units * kSuperpageBytes, kBasePageBytes, 1);
    EXPECT_EQ(region.slice_of(p), Slice::kSmallBase);
    pages.commit(p, units * kSuperpageBytes);
    return p;
  }
  /// Requests 17 units before the program fills the first. Returns the first.
  char *request_before_fill() {
    usual = 0;
    char *first = grow_base(1), *second = pages.grow(kSuperpageBytes, kBasePageBytes, 1);
    EXPECT_EQ(region.slice_of(second), Slice::kSmallBase);
    pages.commit(second, kSuperpageBytes);
    EXPECT_FALSE(pages.follows_fill());
    for (int i = 0; i < 15; i++)
      pages.commit(pages.grow(kSuperpageBytes, kBasePageBytes, 1), kSuperpageBytes);
    EXPECT_TRUE(pages.follows_fill());
    return first;
  }
  bool advised(char *unit) const { return FakeOs::advised.count(unit) != 0; }
  size_t usual = kPagesPerUnit;           ///< resident pages of a unit
  std::map<const char *, size_t> touched; ///< of single units
};

TEST_F(SmallFillTest, AUnitThatWasFilledBeforeGetsASuperpageWhenItIsUsedAgain) {
  char *p = grow_base(8), *again = p + 3 * kSuperpageBytes;
  pages.decommit(p + 2 * kSuperpageBytes, 6 * kSuperpageBytes);
  EXPECT_EQ(counters.superpages_at_first_touch.get(), 0u);
  pages.commit(again, 3 * kBasePageBytes);
  EXPECT_TRUE(advised(again));
  EXPECT_EQ(counters.superpages_at_first_touch.get(), 1u);
  EXPECT_EQ(counters.superpages_now.get(), 1u);
  EXPECT_EQ(region.charged_superpages(), 1u);
  EXPECT_EQ(counters.mappings.get(), 1u);
  EXPECT_TRUE(pages.check_invariants());
}
TEST_F(SmallFillTest, AUnitThatWasHalfFilledDoesNot) {
  usual = kPagesPerUnit / 2;
  char *p = grow_base(8), *again = p + 3 * kSuperpageBytes;
  pages.decommit(p + 2 * kSuperpageBytes, 6 * kSuperpageBytes);
  pages.commit(again, 3 * kBasePageBytes);
  EXPECT_FALSE(advised(again));
  EXPECT_EQ(counters.superpages_at_first_touch.get(), 0u);
  EXPECT_EQ(counters.mappings.get(), 0u);
}
TEST_F(SmallFillTest, FewFreedPagesShowNothing) {
  char *p = grow_base(8);
  pages.decommit(p + 4 * kSuperpageBytes, 3 * kSuperpageBytes);
  pages.commit(p + 4 * kSuperpageBytes, kBasePageBytes);
  EXPECT_EQ(counters.superpages_at_first_touch.get(), 0u);
}
TEST_F(SmallFillTest, ASmallHeapGetsNone) {
  char *p = grow_base(8);
  pages.decommit(p, 8 * kSuperpageBytes);
  pages.commit(p, kBasePageBytes);
  EXPECT_EQ(counters.superpages_at_first_touch.get(), 0u);
}
TEST_F(SmallFillTest, LockedMemoryGetsNone) {
  char *p = grow_base(8), *last = p + 7 * kSuperpageBytes;
  pages.decommit(p + 2 * kSuperpageBytes, 5 * kSuperpageBytes);
  FakeOs::purge_error = EINVAL; // the kernel keeps the last unit's pages
  pages.decommit(last, kSuperpageBytes);
  pages.commit(last, kBasePageBytes);
  EXPECT_EQ(counters.superpages_at_first_touch.get(), 0u);
  EXPECT_TRUE(pages.check_invariants());
}
TEST_F(SmallFillTest, AnAdvisedUnitIsLikeOneOfTheOtherSlice) {
  char *p = grow_base(16);
  pages.decommit(p + 2 * kSuperpageBytes, 14 * kSuperpageBytes);
  char *unit = p + 5 * kSuperpageBytes;
  pages.commit(unit, kSuperpageBytes);
  ASSERT_TRUE(advised(unit));
  FakeOs::holds_data = [](const char *) { return true; };
  // Emptied while the program fills what it requests: the next first touch gives one again.
  pages.decommit(unit, kSuperpageBytes);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 1u);
  const unsigned advices = FakeOs::advices;
  pages.commit(unit, kSuperpageBytes);
  EXPECT_EQ(FakeOs::advices, advices); // it has the advice
  EXPECT_EQ(counters.superpages_now.get(), 1u);
  // Idle pages: split, and advised against.
  ASSERT_EQ(pages.give_up(1), 1u);
  EXPECT_TRUE(FakeOs::refused.count(unit));
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
  EXPECT_TRUE(pages.check_invariants());
  // Emptied: it gets another.
  pages.decommit(unit, kSuperpageBytes);
  EXPECT_TRUE(advised(unit));
  EXPECT_EQ(region.charged_superpages(), 1u);
  EXPECT_EQ(counters.mappings.get(), 1u);
  EXPECT_TRUE(pages.check_invariants());
}
TEST_F(SmallFillTest, SuperpagesWithoutDataEndTheAdvice) {
  char *p = grow_base(16);
  pages.decommit(p + 2 * kSuperpageBytes, 4 * kSuperpageBytes);
  char *unit = p + 3 * kSuperpageBytes;
  pages.commit(unit, kSuperpageBytes);
  ASSERT_TRUE(advised(unit));
  pages.decommit(unit, kSuperpageBytes); // holds no data: one of five freed units was untouched
  EXPECT_TRUE(FakeOs::refused.count(unit));
  EXPECT_EQ(region.charged_superpages(), 0u);
  pages.commit(unit, kSuperpageBytes);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(counters.superpages_at_first_touch.get(), 1u);
  EXPECT_EQ(counters.mappings.get(), 1u); // of its own still
  EXPECT_TRUE(pages.check_invariants());
}
TEST_F(SmallFillTest, TheHelperGivesTheNextUnitsOfAFill) {
  char *first = request_before_fill();
  const auto unit = [&](size_t i) { return first + i * kSuperpageBytes; };
  EXPECT_EQ(pages.look_ahead(), 0u);
  EXPECT_EQ(counters.superpages_ahead.get(), 0u);
  touched[unit(0)] = kPagesPerUnit / 2 - 1;
  EXPECT_EQ(pages.look_ahead(), 7u); // sixteenths of the unit
  EXPECT_EQ(counters.superpages_ahead.get(), 0u);
  touched[unit(0)] = kPagesPerUnit / 2;
  pages.look_ahead();
  EXPECT_EQ(counters.superpages_ahead.get(), 2u);
  EXPECT_TRUE(advised(unit(1)) && advised(unit(2)) && !advised(unit(3)));
  EXPECT_TRUE(pages.check_invariants());
  // A superpage is resident as a whole. Its contents show the fill.
  touched[unit(0)] = touched[unit(1)] = kPagesPerUnit;
  pages.look_ahead();
  EXPECT_EQ(counters.superpages_ahead.get(), 2u);
  FakeOs::filled_parts = [&](const char *p) { return p == unit(1) ? 9u : 0u; };
  pages.look_ahead();
  EXPECT_EQ(counters.superpages_ahead.get(), 3u);
  EXPECT_TRUE(advised(unit(3)) && !advised(unit(4)));
  // A unit that was touched before gets none, nor does any behind it.
  touched[unit(4)] = 1;
  touched[unit(2)] = touched[unit(3)] = kPagesPerUnit;
  FakeOs::holds_data = [&](const char *p) { return p <= unit(2); };
  FakeOs::filled_parts = [&](const char *p) { return p == unit(3) ? 9u : 0u; };
  pages.look_ahead();
  EXPECT_EQ(counters.superpages_ahead.get(), 3u);
  EXPECT_FALSE(advised(unit(4)) || advised(unit(5)));
  // The end of the requested units ends it.
  FakeOs::holds_data = [&](const char *p) { return p <= unit(3); };
  for (size_t i = 4; i < 17; i++)
    touched[unit(i)] = kPagesPerUnit;
  pages.look_ahead();
  EXPECT_FALSE(pages.follows_fill());
  EXPECT_TRUE(pages.check_invariants());
}
struct SmallFillWithoutThp : SmallFillTest {
  void SetUp() override {
    start_region([] {
      Region::Config c = FakeOs::config();
      c.thp_allowed = false;
      return c;
    });
    start();
  }
};
TEST_F(SmallFillWithoutThp, NothingIsAdvisedOrCounted) {
  char *first = request_before_fill();
  touched[first] = kPagesPerUnit / 2;
  pages.look_ahead();
  EXPECT_EQ(counters.superpages_ahead.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
  usual = kPagesPerUnit;
  pages.decommit(first + 2 * kSuperpageBytes, 8 * kSuperpageBytes);
  pages.commit(first + 2 * kSuperpageBytes, kBasePageBytes);
  EXPECT_EQ(counters.superpages_at_first_touch.get(), 0u);
  EXPECT_TRUE(pages.check_invariants());
}
} // namespace
} // namespace smalloc
