// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// big_objects_test.cpp tests big objects against a model: random allocate, resize, release, trim.
// Every object keeps its bytes, objects never overlap, and the tables agree after each step. Also
// tests refusals of the system.
#include "tests/unit/core/big_objects_fixture.h"

#include <map>
#include <random>
#include <vector>

namespace smalloc {
namespace {
/// Writes the start of each 64 KiB and the last byte: enough to detect overlap and loss, and cheap
/// to check.
void stamp(char *p, size_t n, char value) {
  for (size_t i = 0; i < n; i += 65536)
    p[i] = value;
  p[n - 1] = value;
}
bool stamped(const char *p, size_t n, char value, bool last) {
  for (size_t i = 0; i < n; i += 65536)
    if (p[i] != value)
      return false;
  return !last || p[n - 1] == value;
}
TEST_F(BigObjectsTest, TablesThatContradictAreSeen) {
  char *p = make(8 * kMiB, true);
  ASSERT_NE(p, nullptr);
  ASSERT_TRUE(big.check_invariants());
  const uint64_t superpages = counters.superpages_now.get();
  ASSERT_GT(superpages, 0u);
  counters.superpages_now.set(0); // while the object has some
  EXPECT_FALSE(big.check_invariants());
  counters.superpages_now.set(superpages);
  EXPECT_TRUE(big.check_invariants());
}

TEST_F(BigObjectsTest, RandomOperationsAgainstAModel) {
  struct Object {
    char *p;
    size_t n;
    char value;
  };
  std::vector<Object> live;
  std::mt19937 random(7);
  auto some_size = [&] { return 2 * kMiB + random() % (random() % 4 ? 6 * kMiB : 40 * kMiB); };
  for (int step = 0; step < 1500; step++) {
    unsigned what = random() % 100;
    if (what < 45 && live.size() < 40) {
      size_t n = some_size();
      bool zero = random() % 3 == 0;
      char *p = make(n, random() % 2, size_t{16} << random() % 20, zero);
      ASSERT_NE(p, nullptr);
      ASSERT_GE(big.usable_bytes(p), n);
      ASSERT_TRUE(!zero || stamped(p, n, 0, true));
      char value = static_cast<char>(1 + random() % 100);
      stamp(p, n, value);
      live.push_back({p, n, value});
    } else if (what < 70 && !live.empty()) {
      Object &o = live[random() % live.size()];
      size_t n = random() % 2 ? some_size() : 1 + random() % o.n;
      auto *q = static_cast<char *>(big.resize(o.p, n));
      ASSERT_NE(q, nullptr);
      ASSERT_TRUE(stamped(q, std::min(n, o.n), o.value, false));
      o = {q, n, o.value};
      stamp(q, n, o.value);
    } else if (what < 98 && !live.empty()) {
      size_t i = random() % live.size();
      ASSERT_TRUE(stamped(live[i].p, live[i].n, live[i].value, true));
      ASSERT_TRUE(big.release(live[i].p));
      live[i] = live.back();
      live.pop_back();
    } else {
      big.trim();
    }
    ASSERT_TRUE(big.check_invariants()) << "step " << step;
    ASSERT_EQ(pending, big.pending());
    std::map<char *, size_t> ranges;
    for (const Object &o : live)
      ranges[o.p] = o.n;
    char *end = nullptr;
    for (auto [p, n] : ranges) {
      ASSERT_GE(p, end);
      end = p + n;
    }
  }
  for (const Object &o : live)
    ASSERT_TRUE(stamped(o.p, o.n, o.value, true) && big.release(o.p));
  big.trim();
  EXPECT_TRUE(big.check_invariants());
  EXPECT_EQ(counters.big_objects_now.get(), 0u);
  EXPECT_EQ(counters.big_bytes_now.get(), 0u);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(counters.mappings.get(), 0u);
}
TEST_F(BigObjectsTest, AlignmentIsKeptAndStartsAreStaggered) {
  std::map<size_t, int> lines;
  for (int i = 0; i < 64; i++) {
    char *p = make(2 * kMiB, true);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 64, 0u);
    lines[reinterpret_cast<uintptr_t>(p) % kSuperpageBytes]++;
    EXPECT_LT(reinterpret_cast<uintptr_t>(p) % kSuperpageBytes, 8 * kBasePageBytes);
  }
  EXPECT_GE(lines.size(), 48u);
  for (size_t a = 16; a <= 64 * kMiB; a *= 2)
    EXPECT_EQ(reinterpret_cast<uintptr_t>(make(3 * kMiB, true, a)) % a, 0u) << a;
}
TEST_F(BigObjectsTest, InteriorPointersFindTheirObjectAndAreNotReleased) {
  char *p = make(9 * kMiB, false);
  for (size_t i = 0; i < 9 * kMiB; i += 777777) {
    auto h = big.find(p + i);
    ASSERT_TRUE(h);
    EXPECT_EQ(h.object->bytes, big.usable_bytes(p) + kSlackBytes);
    EXPECT_EQ(big.usable_bytes(p + i), big.usable_bytes(p) - i);
  }
  EXPECT_FALSE(big.release(p + 4096));
  EXPECT_TRUE(big.release(p));
  EXPECT_FALSE(big.release(p));
  EXPECT_FALSE(big.find(p));
}
TEST_F(BigObjectsTest, RefusedCommitLeavesNothingBehind) {
  FakeOs::refuse_commits_after = 0;
  EXPECT_EQ(make(5 * kMiB, true), nullptr);
  EXPECT_EQ(make(5 * kMiB, false), nullptr);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(counters.mappings.get(), 0u);
  EXPECT_TRUE(big.check_invariants());
  FakeOs::refuse_commits_after = -1;
  char *p = make(5 * kMiB, true);
  ASSERT_NE(p, nullptr);
  stamp(p, 5 * kMiB, 3);
  FakeOs::refuse_commits_after = 0;
  EXPECT_EQ(big.resize(p, 50 * kMiB), nullptr);
  EXPECT_TRUE(stamped(p, 5 * kMiB, 3, true));
  EXPECT_TRUE(big.check_invariants());
  EXPECT_NE(big.resize(p, 3 * kMiB), nullptr); // shrinking needs nothing
}
TEST_F(BigObjectsTest, RefusedMoveLeavesTheObject) {
  char *p = make(4 * kMiB, false);
  make(4 * kMiB, false); // in the way
  stamp(p, 4 * kMiB, 9);
  FakeOs::move_error = EFAULT;
  EXPECT_EQ(big.resize(p, 90 * kMiB), nullptr);
  EXPECT_TRUE(stamped(p, 4 * kMiB, 9, true));
  EXPECT_TRUE(big.check_invariants());
}
TEST_F(BigObjectsTest, RefusedGrowthInPlaceGivesBackWhatWasCommitted) {
  char *p = make(5 * kMiB, false);
  FakeOs::refuse_commits_after = 0;
  const unsigned before = FakeOs::decommits;
  EXPECT_EQ(big.resize(p, 7 * kMiB), nullptr);
  EXPECT_EQ(FakeOs::decommits, before + 2); // in place, and at the target of the move
  EXPECT_TRUE(big.check_invariants());
}
TEST_F(BigObjectsTest, ShrinkingWithinAUnitReleasesPages) {
  char *p = make(5 * kMiB, false);
  const size_t usable = big.usable_bytes(p);
  const uint64_t before = counters.pages_released.get();
  ASSERT_EQ(big.resize(p, 9 * kMiB / 2), p);
  EXPECT_EQ(counters.pages_released.get() - before,
            (usable - big.usable_bytes(p)) / kBasePageBytes);
  EXPECT_GE(usable - big.usable_bytes(p), kMiB / 2);
}
TEST_F(BigObjectsTest, TailKeepsItsBasePagesWhereTheObjectGrows) {
  char *p = make(5 * kMiB, true);
  ASSERT_EQ(counters.superpages_now.get(), 2u);
  ASSERT_EQ(big.resize(p, 8 * kMiB), p);
  EXPECT_EQ(counters.superpages_now.get(), 3u); // the fourth unit; the third contains base pages
  EXPECT_TRUE(big.check_invariants());
}
TEST_F(BigObjectsTest, TooLargeIsRefused) {
  EXPECT_EQ(make(size_t{1} << 50, true), nullptr);
  EXPECT_EQ(make(SIZE_MAX, false), nullptr);
  EXPECT_TRUE(big.check_invariants());
}
TEST_F(BigObjectsTest, WholeSuperpagesStayWholeWhereTheObjectIsResized) {
  for (const bool in_the_way : {false, true}) {
    BigRequest r;
    r.superpages_at_first_touch = r.whole_superpages = true;
    r.bytes = 5 * kMiB;
    char *p = static_cast<char *>(big.allocate(r));
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(counters.superpages_now.get(), 3u);
    char *behind = in_the_way ? make(2 * kMiB, false) : nullptr;
    char *wall = in_the_way ? make(2 * kMiB, true) : nullptr;
    const uint64_t others = counters.superpages_now.get() - 3;
    stamp(p, 5 * kMiB, 7);
    char *grown = static_cast<char *>(big.resize(p, 11 * kMiB));
    ASSERT_NE(grown, nullptr);
    EXPECT_EQ(counters.superpages_now.get() - others, 6u);
    EXPECT_GE(big.usable_bytes(grown), 11 * kMiB);
    EXPECT_TRUE(stamped(grown, 5 * kMiB, 7, false));
    EXPECT_TRUE(big.like(grown, kMiB).whole_superpages);
    EXPECT_EQ(big.resize(grown, 3 * kMiB), grown);
    big.trim();
    EXPECT_EQ(counters.superpages_now.get() - others, 2u);
    EXPECT_TRUE(big.check_invariants());
    EXPECT_TRUE(big.release(grown));
    for (char *o : {behind, wall})
      EXPECT_TRUE(!o || big.release(o));
    big.trim();
    EXPECT_EQ(counters.superpages_now.get(), 0u);
  }
}
TEST_F(BigObjectsTest, GrowthBeyondTheBudgetStartsOnBasePages) {
  Region::Config config = FakeOs::config();
  config.budget.bytes = 16 * kMiB;
  start(config, {64 * kMiB});
  for (const bool in_the_way : {false, true}) {
    char *p = make(5 * kMiB, true), *behind = in_the_way ? make(2 * kMiB, true) : nullptr;
    char *grown = static_cast<char *>(big.resize(p, 60 * kMiB));
    ASSERT_NE(grown, nullptr);
    EXPECT_EQ(grown != p, in_the_way);
    EXPECT_EQ(region.charged_superpages(), 8u);
    char *unit = region.unit_address(Slice::kBigSuper, region.unit_of(Slice::kBigSuper, grown));
    // The units behind the allowed superpages are refused. The unit of the former tail has base
    // pages anyway.
    ASSERT_EQ(FakeOs::refused.size(), 1u) << in_the_way;
    EXPECT_GE(*FakeOs::refused.begin(), unit + 7 * kSuperpageBytes);
    EXPECT_LE(*FakeOs::refused.begin(), unit + 9 * kSuperpageBytes);
    EXPECT_EQ(pending, 1u);
    EXPECT_TRUE(big.check_invariants());
    EXPECT_TRUE(big.release(grown));
    EXPECT_TRUE(!behind || big.release(behind));
    big.trim();
    EXPECT_EQ(region.charged_superpages(), 0u);
    EXPECT_EQ(counters.mappings.get(), 0u);
    EXPECT_EQ(pending, 0u);
    FakeOs::refused.clear();
  }
}
TEST_F(BigObjectsTest, TemporariesUseTheirKeptSuperpagesAgainUnderABudget) {
  Region::Config config = FakeOs::config();
  config.budget.bytes = 32 * kMiB;
  start(config, {64 * kMiB});
  make(400 * kMiB, false);
  for (int i = 0; i < 8; i++) {
    // Kept superpages are charged, so the budget has no room for as many more.
    char *p = make(20 * kMiB, true);
    EXPECT_EQ(region.slice_of(p), Slice::kBigSuper) << i;
    EXPECT_TRUE(big.release(p));
  }
  EXPECT_GT(counters.units_reused.get(), 0u);
  EXPECT_TRUE(big.check_invariants());
}
TEST_F(BigObjectsTest, WhatIsCutOffWithAdviceOfItsOwnIsNotKept) {
  Region::Config config = FakeOs::config();
  config.budget.bytes = 16 * kMiB;
  start(config, {64 * kMiB});
  for (int i = 0; i < 3; i++) // keeping 30 MiB is proven to pay
    big.release(make(30 * kMiB, false));
  big.trim();
  // Most of it is refused.
  char *p = static_cast<char *>(big.resize(make(4 * kMiB, true), 30 * kMiB));
  ASSERT_NE(p, nullptr);
  ASSERT_EQ(big.resize(p, 17 * kMiB), p);
  EXPECT_EQ(big.trim(), 0u);
  EXPECT_TRUE(big.check_invariants());
}
TEST_F(BigObjectsTest, WhatTakesAnObjectsPlaceIsAskedForAsItWas) {
  BigRequest r;
  r.bytes = 8 * kMiB;
  r.promotable = false;
  r.first = PageKind::kSuperpage;
  r.placement.kind = numa::PlacementKind::kInterleave;
  void *p = big.allocate(r);
  EXPECT_EQ(pending, 0u);
  const BigRequest like = big.like(p, 20 * kMiB);
  EXPECT_EQ(like.bytes, 20 * kMiB);
  EXPECT_FALSE(like.promotable);
  EXPECT_FALSE(like.superpages_at_first_touch);
  EXPECT_EQ(like.placement.kind, numa::PlacementKind::kInterleave);
  void *grown = big.resize(p, 20 * kMiB); // it does not begin to wait as it grows
  ASSERT_NE(grown, nullptr);
  EXPECT_EQ(pending, 0u);
  big.make_pending(big.find(grown)); // a new decision
  EXPECT_EQ(pending, 1u);
  EXPECT_TRUE(big.release(grown));
}
TEST(BigObjectsMappings, StopAtTheBudget) {
  FakeOs::reset();
  Region::Config c = FakeOs::config();
  c.mapping_limit = 8 * 20;
  Counters counters;
  Region region;
  PageFallback page_fallback;
  BigObjects big;
  FakeOs::make_page_fallback(page_fallback, counters);
  ASSERT_TRUE(region.init(c, counters) && big.init(region, page_fallback, {0}));
  BigRequest r;
  r.bytes = 3 * kMiB;
  void *last = nullptr;
  for (int i = 0; i < 10; i++)
    ASSERT_NE(last = big.allocate(r), nullptr);
  EXPECT_EQ(big.allocate(r), nullptr);
  big.release(last);
  EXPECT_NE(big.allocate(r), nullptr);
}
} // namespace
} // namespace smalloc
