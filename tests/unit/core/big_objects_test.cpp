// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Big objects against a model: random allocate, resize, release, trim; every object keeps its
// bytes, objects never overlap, tables agree after each step; and what happens when the system
// refuses.
#include "smalloc/core/big_objects.h"
#include "tests/unit/core/fake_os.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

namespace smalloc {
namespace {
constexpr size_t kMiB = 1 << 20;

struct BigObjectsTest : testing::Test {
  void SetUp() override {
    FakeOs::reset();
    start(FakeOs::config(), {64 * kMiB});
  }
  void start(Region::Config config, BigObjects::Config big_config) {
    config.pending = &pending;
    ASSERT_TRUE(region.init(config, counters));
    FakeOs::make_ladder(ladder, counters);
    ASSERT_TRUE(big.init(region, ladder, big_config));
  }
  char *make(size_t bytes, bool at_birth, size_t alignment = 16, bool zero = false) {
    BigRequest r;
    r.bytes = bytes;
    r.superpages_at_birth = at_birth;
    r.alignment = alignment;
    r.zero = zero;
    return static_cast<char *>(big.allocate(r));
  }
  unsigned pending = 0;
  Counters counters;
  Region region;
  Ladder ladder;
  BigObjects big;
};

/// A byte at the start of each 64 KiB and the last one: enough to see overlap and loss, cheap to
/// check.
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
    EXPECT_EQ(h.object->bytes, big.usable_bytes(p));
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
  EXPECT_NE(big.resize(p, 3 * kMiB), nullptr); // shrinking asks for nothing
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
  EXPECT_EQ(FakeOs::decommits, before + 2); // where it lies, and where it would have been moved
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
  EXPECT_EQ(counters.superpages_now.get(), 3u); // the fourth unit; the third has base pages in it
  EXPECT_TRUE(big.check_invariants());
}
TEST_F(BigObjectsTest, TooLargeIsRefused) {
  EXPECT_EQ(make(size_t{1} << 50, true), nullptr);
  EXPECT_EQ(make(SIZE_MAX, false), nullptr);
  EXPECT_TRUE(big.check_invariants());
}
TEST_F(BigObjectsTest, KeptUnitsAreBoundedByTheRuleUntilReuseIsProven) {
  char *hot = make(400 * kMiB, true);
  char *p = make(20 * kMiB, true);
  uint64_t before = counters.superpages_now.get();
  big.release(p); // 20 MiB are more than 2 % of 420
  EXPECT_EQ(counters.superpages_now.get(), before - 10);
  p = make(20 * kMiB, true); // regretted
  big.release(p);
  EXPECT_EQ(counters.superpages_now.get(), before);
  p = make(20 * kMiB, true);
  EXPECT_EQ(counters.units_reused.get(), 10u);
  big.release(p);
  EXPECT_EQ(big.trim(), 20 * kMiB);
  big.release(hot); // above what is ever kept
  EXPECT_EQ(counters.superpages_now.get(), 0u);
}
struct BesideKeptUnits : BigObjectsTest {
  /// 400 MiB live, 20 MiB kept, which is proven to pay; then 10 MiB more than there ever was, whatever is kept.
  template <class Ask> void ask(const Ask &for_30_mib_more) {
    hot = make(400 * kMiB, true);
    for (int i = 0; i < 3; i++)
      big.release(make(20 * kMiB, true));
    EXPECT_EQ(counters.superpages_now.get(), 210u);
    char *p = for_30_mib_more();
    ASSERT_NE(p, nullptr);
    EXPECT_LE(counters.superpages_now.get(), 215u);
    EXPECT_TRUE(big.check_invariants());
    EXPECT_TRUE(big.release(p));
  }
  char *hot = nullptr;
};
TEST_F(BesideKeptUnits, ANewObjectNeverRaisesThePeak) {
  ask([&] { return make(30 * kMiB, true); });
  EXPECT_TRUE(big.release(hot));
}
TEST_F(BesideKeptUnits, AnObjectThatGrowsNeverRaisesThePeak) {
  ask([&] { return static_cast<char *>(big.resize(hot, 430 * kMiB)); });
}
TEST_F(BigObjectsTest, CallocOfKeptUnitsIsZero) {
  for (int i = 0; i < 5; i++) {
    char *p = make(6 * kMiB, true, 16, true);
    for (size_t k = 0; k < 6 * kMiB; k++)
      ASSERT_EQ(p[k], 0);
    memset(p, 5, 6 * kMiB);
    big.release(p);
  }
  EXPECT_GT(counters.units_reused.get(), 0u);
}
// Who replaces objects of no whole number of units by others of their size faults nothing again.
struct KeptTailTest : BigObjectsTest {
  void begin(bool with_superpages) {
    at_birth = with_superpages;
    make(400 * kMiB, at_birth);
    p = make(5 * kMiB, at_birth);
    released = counters.pages_released.get();
  }
  /// Replaces the object, and returns how many pages were given back since begin().
  double again(size_t bytes) {
    const Slice slice = at_birth ? Slice::kBigSuper : Slice::kBigBase;
    big.release(p);
    EXPECT_TRUE(big.check_invariants());
    char *next = make(bytes, at_birth);
    EXPECT_TRUE(big.check_invariants());
    EXPECT_EQ(region.slice_of(next), slice);
    EXPECT_EQ(region.unit_of(slice, next), region.unit_of(slice, p));
    p = next;
    return static_cast<double>(counters.pages_released.get() - released);
  }
  void replace_by_objects_of_the_same_units() {
    EXPECT_LE(again(5 * kMiB), 2); // objects begin at other lines
    EXPECT_EQ(counters.units_reused.get(), 2u);
    EXPECT_NEAR(again(4 * kMiB + kMiB / 2), 128, 4); // what it does not need
    EXPECT_NEAR(again(5 * kMiB), 128, 4);            // has that anew
  }
  bool at_birth = false;
  char *p = nullptr;
  uint64_t released = 0;
};
TEST_F(KeptTailTest, WhatLiesBehindTheUnitsIsKeptWithThem) {
  begin(false);
  replace_by_objects_of_the_same_units();
  // Its tail is in the second unit, of which the rest goes, and the third unit goes.
  EXPECT_NEAR(again(3 * kMiB), 128 + 512 + 256, 8);
  memset(p, 1, 3 * kMiB);
  big.release(p);
  EXPECT_GE(big.trim(), 3 * kMiB);
  EXPECT_TRUE(big.check_invariants());
}
TEST_F(KeptTailTest, ATailTakesTheKeptSuperpageThatItLiesIn) {
  begin(true);
  replace_by_objects_of_the_same_units();
  const uint64_t superpages = counters.superpages_now.get();
  const uint64_t charged = region.charged_superpages();
  EXPECT_NEAR(again(3 * kMiB), 128 + 256, 8); // the third unit goes
  EXPECT_EQ(big.find(p).object->superpages, 2u);
  EXPECT_GE(big.usable_bytes(p), 4 * kMiB - 8 * kBasePageBytes);
  EXPECT_EQ(counters.superpages_now.get(), superpages);
  EXPECT_EQ(region.charged_superpages(), charged);
  memset(p, 1, big.usable_bytes(p));
  big.release(p);
  EXPECT_EQ(big.trim(), 4 * kMiB);
  EXPECT_EQ(counters.superpages_now.get(), superpages - 2);
  EXPECT_TRUE(big.check_invariants());
}
TEST_F(BigObjectsTest, ATailLeavesTheUnitsBehindItToOthers) {
  constexpr size_t kNoStagger = 65536; // so aligned, objects start with their units
  make(400 * kMiB, true);
  char *first = make(8 * kMiB, true, kNoStagger);
  memset(first, 5, 8 * kMiB);
  ASSERT_TRUE(big.release(first));
  char *p = make(3 * kMiB, true, kNoStagger, true);
  EXPECT_EQ(p, first);
  EXPECT_EQ(counters.units_reused.get(), 2u);
  for (size_t i = 0; i < 3 * kMiB; i++)
    ASSERT_EQ(p[i], 0) << i;
  char *next = make(4 * kMiB, true, kNoStagger);
  EXPECT_EQ(next, first + 4 * kMiB);
  EXPECT_EQ(counters.units_reused.get(), 4u);
  EXPECT_TRUE(big.check_invariants());
}
TEST_F(BigObjectsTest, AResizeToItsOwnSizeTakesNoSuperpageAway) {
  char *p = make(101 * kMiB, true);
  ASSERT_EQ(big.find(p).object->superpages, 51u);
  const unsigned decommits = FakeOs::decommits;
  EXPECT_EQ(big.resize(p, 101 * kMiB), p);
  EXPECT_EQ(big.find(p).object->superpages, 51u);
  EXPECT_EQ(FakeOs::decommits, decommits);
  EXPECT_TRUE(big.check_invariants());
}
TEST_F(BigObjectsTest, ATailTakesASuperpageWhereThatAddsTwoPercent) {
  constexpr size_t kNoStagger = 65536;
  // 110 pages are 2 % of the rest of 22 MiB, 111 are more.
  constexpr size_t kMost = 22 * kMiB - 110 * kBasePageBytes, kLess = kMost - kBasePageBytes;
  const auto superpages_of = [&](size_t bytes) {
    char *p = make(bytes, true, kNoStagger);
    EXPECT_EQ(big.usable_bytes(p),
              align_up(bytes, bytes == kLess ? kBasePageBytes : kSuperpageBytes));
    const unsigned superpages = big.find(p).object->superpages;
    EXPECT_EQ(counters.superpages_now.get(), superpages);
    EXPECT_EQ(region.charged_superpages(), superpages);
    EXPECT_TRUE(big.check_invariants());
    EXPECT_TRUE(big.release(p));
    big.trim();
    return superpages;
  };
  EXPECT_EQ(superpages_of(kMost), 11u);
  EXPECT_EQ(superpages_of(kLess), 10u);
  EXPECT_EQ(superpages_of(22 * kMiB), 11u);
  EXPECT_EQ(superpages_of(100 * kMiB + 1), 51u); // from 100 MiB on it is always so
  // Nobody asks for superpages at birth: nothing is added.
  char *p = make(kMost, false, kNoStagger);
  EXPECT_EQ(big.usable_bytes(p), kMost);
  EXPECT_TRUE(big.release(p));
}
TEST_F(BigObjectsTest, KeptTailsEndWithTheirUnits) {
  make(400 * kMiB, true);
  std::mt19937 random(3);
  std::vector<char *> live;
  for (int i = 0; i < 3000; i++) {
    if (live.size() < 4 || random() % 2) {
      const size_t bytes = 2 * kMiB + random() % (5 * kMiB);
      const bool zero = random() % 2;
      char *p = make(bytes, random() % 4 != 0, 16, zero);
      ASSERT_NE(p, nullptr);
      for (size_t k = 0; k < bytes; k += 4096) {
        if (zero) {
          ASSERT_EQ(p[k], 0) << i << " " << k;
        }
        p[k] = 7;
      }
      ASSERT_TRUE(!zero || p[bytes - 1] == 0 || (bytes - 1) % 4096 == 0);
      p[bytes - 1] = 7;
      live.push_back(p);
    } else {
      std::swap(live[random() % live.size()], live.back());
      ASSERT_TRUE(big.release(live.back()));
      live.pop_back();
    }
    ASSERT_TRUE(big.check_invariants()) << i;
  }
  for (char *p : live)
    big.release(p);
  EXPECT_GT(counters.units_reused.get(), 100u);
}
TEST_F(BigObjectsTest, ALargerCacheKeepsLargerObjects) {
  for (const bool larger : {false, true}) {
    if (larger)
      start(FakeOs::config(), {256 * kMiB});
    for (int round = 0; round < 4; round++) {
      char *p = make(99 * kMiB, true); // 100 with the rest of its last superpage
      ASSERT_NE(p, nullptr);
      ASSERT_TRUE(big.release(p));
    }
    EXPECT_EQ(counters.superpages_now.get(), larger ? 50u : 0u);
    EXPECT_TRUE(big.check_invariants());
    big.trim();
    EXPECT_EQ(counters.superpages_now.get(), 0u);
  }
}

TEST_F(BigObjectsTest, WhatMovesIsOneMappingMore) {
  char *p = make(4 * kMiB, false), *wall = make(2 * kMiB, false);
  for (unsigned moves = 1; moves <= 3; moves++) {
    const uint64_t before = counters.mappings.get();
    p = static_cast<char *>(big.resize(p, (4 << moves) * kMiB));
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(counters.moves.get(), moves);
    EXPECT_EQ(counters.mappings.get(), before + 1);
    char *next = make(moves * 40 * kMiB, false); // fits nowhere but behind it
    EXPECT_TRUE(big.release(wall));
    wall = next;
  }
  EXPECT_TRUE(big.release(p) && big.release(wall));
  EXPECT_EQ(counters.mappings.get(), 0u);
}

TEST_F(BigObjectsTest, KeptSuperpagesGiveWayToAnObjectThatIsThere) {
  Region::Config config = FakeOs::config();
  config.budget.bytes = 32 * kMiB;
  start(config, {64 * kMiB});
  ASSERT_TRUE(big.release(make(200 * kMiB, false))); // the peak, beyond which nothing is kept
  for (int round = 0; round < 6; round++) {
    char *p = make(20 * kMiB, true);
    ASSERT_NE(p, nullptr);
    ASSERT_TRUE(big.release(p));
  }
  ASSERT_EQ(counters.superpages_now.get(), 10u); // kept
  char *large = make(40 * kMiB, true); // more than there ever can be: nobody gives way for nothing
  EXPECT_EQ(counters.superpages_now.get(), 10u);
  char *live = make(30 * kMiB, true);
  ASSERT_TRUE(large && live);
  EXPECT_EQ(counters.superpages_now.get(), 15u);
  EXPECT_LE(region.charged_superpages(), 16u);
  EXPECT_TRUE(big.check_invariants());
  EXPECT_TRUE(big.release(large) && big.release(live));
}

/// While one run is evicted for another, with the lock open, a third is kept: there is room for all or for none.
TEST_F(BigObjectsTest, KeptRunsStayWithinTheirTableWhoeverKeepsSomethingMeanwhile) {
  start(FakeOs::config(), {256 * kMiB});
  for (int round = 0; round < 4; round++) { // keeping 150 MiB is proven to pay
    std::vector<char *> temporaries;
    for (int i = 0; i < 5; i++)
      temporaries.push_back(make(30 * kMiB, true));
    for (char *p : temporaries)
      ASSERT_TRUE(big.release(p));
  }
  big.trim();
  BigRequest r;
  r.superpages_at_birth = r.whole_superpages = true;
  std::vector<void *> objects;
  for (unsigned i = 0; i < UnitCache::kRuns + 2; i++) {
    r.bytes = (i ? 2 : 8) * kMiB - 65536;
    objects.push_back(big.allocate(r));
    ASSERT_NE(objects.back(), nullptr);
  }
  for (unsigned i = 0; i < UnitCache::kRuns; i++)
    ASSERT_TRUE(big.release(objects[i]));
  const uint64_t kept = counters.superpages_now.get();
  EXPECT_EQ(kept, UnitCache::kRuns + 3 + 2); // all of them, and two that live
  FakeOs::on_decommit = [&] { EXPECT_TRUE(big.release(objects[UnitCache::kRuns + 1])); };
  EXPECT_TRUE(big.release(objects[UnitCache::kRuns]));
  EXPECT_EQ(FakeOs::on_decommit, nullptr);
  EXPECT_TRUE(big.check_invariants());
  big.trim();
  EXPECT_TRUE(big.check_invariants());
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
}
TEST_F(BigObjectsTest, WholeSuperpagesStayWholeWhereTheObjectIsResized) {
  for (const bool in_the_way : {false, true}) {
    BigRequest r;
    r.superpages_at_birth = r.whole_superpages = true;
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
    // What follows the superpages that there may be, but for the tail's unit of before, which is base pages anyway.
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
    char *p =
        make(20 * kMiB, true); // kept ones are charged, so that as many more are not to be had
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
  char *p = static_cast<char *>(big.resize(make(4 * kMiB, true), 30 * kMiB)); // most of it refused
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
  EXPECT_FALSE(like.superpages_at_birth);
  EXPECT_EQ(like.placement.kind, numa::PlacementKind::kInterleave);
  void *grown = big.resize(p, 20 * kMiB); // nor does it begin to wait as it grows
  ASSERT_NE(grown, nullptr);
  EXPECT_EQ(pending, 0u);
  big.make_pending(big.find(grown)); // somebody has decided anew
  EXPECT_EQ(pending, 1u);
  EXPECT_TRUE(big.release(grown));
}
TEST(BigObjectsMappings, StopAtTheBudget) {
  FakeOs::reset();
  Region::Config c = FakeOs::config();
  c.mapping_limit = 8 * 20;
  Counters counters;
  Region region;
  Ladder ladder;
  BigObjects big;
  FakeOs::make_ladder(ladder, counters);
  ASSERT_TRUE(region.init(c, counters) && big.init(region, ladder, {0}));
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
