// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kept_units_test.cpp tests the units of released objects that are kept for later objects: how
// many, for which objects, and how long.
#include "tests/unit/core/big_objects_fixture.h"

#include <random>
#include <utility>
#include <vector>

namespace smalloc {
namespace {
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
  big.release(hot); // above the limit for one object
  EXPECT_EQ(counters.superpages_now.get(), 0u);
}
struct BesideKeptUnits : BigObjectsTest {
  /// Keeps 20 MiB, which is proven to pay, beside 400 MiB live. Then requests 10 MiB above the
  /// peak, kept units included.
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
// The program touches its objects later without a request, before which kept units could go.
TEST_F(BesideKeptUnits, UnitsAreNotKeptWhileAsManyAreUntouched) {
  const auto resident = [](uint64_t mib) {
    FakeOs::files["/proc/self/statm"] = "999999 " + std::to_string(mib * 256) + " 0 1";
  };
  FakeOs::resident_part = [](const char *, size_t n) { return n / kBasePageBytes; };
  resident(420); // all is touched
  hot = make(400 * kMiB, true);
  for (int i = 0; i < 3; i++)
    big.release(make(20 * kMiB, true));
  EXPECT_EQ(counters.superpages_now.get(), 210u);
  char *p = make(30 * kMiB, true);
  EXPECT_EQ(counters.superpages_now.get(), 215u);
  char *q = make(20 * kMiB, true);
  EXPECT_EQ(counters.superpages_now.get(), 225u);
  resident(430); // one of the two is not touched
  big.release(q);
  EXPECT_EQ(counters.superpages_now.get(), 215u);
  q = make(20 * kMiB, true);
  resident(450);
  big.release(q);
  EXPECT_EQ(counters.superpages_now.get(), 225u);
  big.release(make(20 * kMiB, true));
  FakeOs::files.clear(); // kept again without another look
  EXPECT_EQ(counters.superpages_now.get(), 225u);
  EXPECT_TRUE(big.release(p));
  EXPECT_TRUE(big.release(hot));
}
// The kernel keeps the page table of a unit that is unmapped in part, and gives it no superpage.
TEST_F(BigObjectsTest, UnitsAreUnmappedWhole) {
  for (const bool at_first_touch : {false, true}) {
    big.release(make(41 * kMiB, at_first_touch)); // above the limit for one object
    char *p = make(5 * kMiB, at_first_touch), *behind = make(41 * kMiB, at_first_touch);
    char *moved = static_cast<char *>(big.resize(p, 45 * kMiB));
    ASSERT_NE(moved, p);
    big.release(moved);
    big.release(behind);
  }
  for (int i = 0; i < 4; i++)
    big.release(make(5 * kMiB, false)); // kept with its tail
  big.trim();
  EXPECT_GT(FakeOs::decommits, 4u);
  EXPECT_EQ(FakeOs::decommitted_parts, 0u);
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
// A program that replaces objects by others of their size takes no new faults, even without a whole
// number of units.
struct KeptTailTest : BigObjectsTest {
  void begin(bool with_superpages) {
    at_first_touch = with_superpages;
    make(400 * kMiB, at_first_touch);
    p = make(5 * kMiB, at_first_touch);
    released = counters.pages_released.get();
  }
  /// Replaces the object. Returns how many pages were released since begin().
  double again(size_t bytes) {
    const Slice slice = at_first_touch ? Slice::kBigSuper : Slice::kBigBase;
    big.release(p);
    EXPECT_TRUE(big.check_invariants());
    char *next = make(bytes, at_first_touch);
    EXPECT_TRUE(big.check_invariants());
    EXPECT_EQ(region.slice_of(next), slice);
    EXPECT_EQ(region.unit_of(slice, next), region.unit_of(slice, p));
    p = next;
    return static_cast<double>(counters.pages_released.get() - released);
  }
  void replace_by_objects_of_the_same_units() {
    EXPECT_LE(again(5 * kMiB), 2); // objects begin at different lines
    EXPECT_EQ(counters.units_reused.get(), 2u);
    EXPECT_NEAR(again(4 * kMiB + kMiB / 2), 128, 4); // the unneeded pages
    EXPECT_NEAR(again(5 * kMiB), 128, 4);            // takes new pages for them
  }
  bool at_first_touch = false;
  char *p = nullptr;
  uint64_t released = 0;
};
TEST_F(KeptTailTest, WhatLiesBehindTheUnitsIsKeptWithThem) {
  begin(false);
  replace_by_objects_of_the_same_units();
  // The object's tail takes a part of the second unit. The rest of that unit is released, and the
  // third unit.
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
  EXPECT_NEAR(again(3 * kMiB), 128 + 256, 8); // the third unit is released
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
  constexpr size_t kNoStagger = 65536; // with this alignment, objects start with their units
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
    const size_t whole = align_up(bytes, kSuperpageBytes);
    EXPECT_EQ(big.usable_bytes(p), bytes != kLess && whole > bytes ? whole - kSlackBytes : bytes);
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
  EXPECT_EQ(superpages_of(100 * kMiB + 1), 51u); // from 100 MiB on it always does
  // Without superpages at first touch no memory is added.
  char *p = make(kMost, false, kNoStagger);
  EXPECT_EQ(big.usable_bytes(p), kMost);
  EXPECT_TRUE(big.release(p));
}
TEST_F(BigObjectsTest, WhatTheProgramGaveAttributesIsNotKept) {
  make(400 * kMiB, true);
  const auto is_kept = [&](bool changed, bool shrunk) {
    big.trim();
    char *p = make(8 * kMiB, true, 65536);
    if (changed)
      FakeOs::several_mappings.insert(p);
    if (shrunk) {
      EXPECT_EQ(big.resize(p, 4 * kMiB), p);
      FakeOs::several_mappings.clear(); // the rest has one set of attributes
    }
    EXPECT_TRUE(big.release(p));
    FakeOs::several_mappings.clear();
    const uint64_t reused = counters.units_reused.get();
    p = make(4 * kMiB, true, 65536);
    EXPECT_TRUE(big.release(p));
    return counters.units_reused.get() != reused;
  };
  EXPECT_TRUE(is_kept(false, false));
  EXPECT_FALSE(is_kept(true, false));
  EXPECT_TRUE(is_kept(false, true));
  EXPECT_FALSE(is_kept(true, true));
  EXPECT_TRUE(big.check_invariants());
}
TEST_F(BigObjectsTest, MemoryBehindEveryObjectIsThere) {
  constexpr size_t kNoStagger = 65536;
  for (bool whole_superpages : {false, true})
    for (size_t bytes : {4 * kMiB - kBasePageBytes, 4 * kMiB - 1, 4 * kMiB, 4 * kMiB + 1,
                         200 * kMiB, 200 * kMiB - 64})
      for (bool superpages : {false, true}) {
        BigRequest request;
        request.bytes = bytes;
        request.alignment = kNoStagger;
        request.superpages_at_first_touch = superpages;
        request.whole_superpages = whole_superpages;
        void *p = big.allocate(request);
        ASSERT_NE(p, nullptr);
        EXPECT_GE(big.usable_bytes(p), bytes);
        EXPECT_GE(big.find(p).object->bytes, bytes + kSlackBytes) << bytes;
        // The slack alone takes no superpage.
        EXPECT_LE(big.find(p).object->whole_units, units_for(bytes));
        for (size_t resized : {2 * bytes, bytes}) {
          p = big.resize(p, resized);
          ASSERT_NE(p, nullptr);
          EXPECT_GE(big.find(p).object->bytes, resized + kSlackBytes) << resized;
        }
        EXPECT_TRUE(big.check_invariants());
        EXPECT_TRUE(big.release(p));
      }
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
    char *next = make(moves * 40 * kMiB, false); // fits only behind it
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
  ASSERT_TRUE(big.release(make(200 * kMiB, false))); // sets the peak, above which no unit is kept
  for (int round = 0; round < 6; round++) {
    char *p = make(20 * kMiB, true);
    ASSERT_NE(p, nullptr);
    ASSERT_TRUE(big.release(p));
  }
  ASSERT_EQ(counters.superpages_now.get(), 10u); // kept
  // More than the budget can ever hold: no kept unit is evicted in vain.
  char *large = make(40 * kMiB, true);
  EXPECT_EQ(counters.superpages_now.get(), 10u);
  char *live = make(30 * kMiB, true);
  ASSERT_TRUE(large && live);
  EXPECT_EQ(counters.superpages_now.get(), 15u);
  EXPECT_LE(region.charged_superpages(), 16u);
  EXPECT_TRUE(big.check_invariants());
  EXPECT_TRUE(big.release(large) && big.release(live));
}

/// While one run is evicted for another, with the lock open, a third run is kept. The table has
/// room for all or for none.
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
  r.superpages_at_first_touch = r.whole_superpages = true;
  std::vector<void *> objects;
  for (unsigned i = 0; i < UnitCache::kRuns + 2; i++) {
    r.bytes = (i ? 2 : 8) * kMiB - 65536;
    objects.push_back(big.allocate(r));
    ASSERT_NE(objects.back(), nullptr);
  }
  for (unsigned i = 0; i < UnitCache::kRuns; i++)
    ASSERT_TRUE(big.release(objects[i]));
  const uint64_t kept = counters.superpages_now.get();
  EXPECT_EQ(kept, UnitCache::kRuns + 3 + 2); // all of them, and two live ones
  FakeOs::on_decommit = [&] { EXPECT_TRUE(big.release(objects[UnitCache::kRuns + 1])); };
  EXPECT_TRUE(big.release(objects[UnitCache::kRuns]));
  EXPECT_EQ(FakeOs::on_decommit, nullptr);
  EXPECT_TRUE(big.check_invariants());
  big.trim();
  EXPECT_TRUE(big.check_invariants());
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
}
TEST_F(BigObjectsTest, PartsGivenBackByTheProgramAreAdvisedAgainst) {
  char *p = make(16 * kMiB, true);
  ASSERT_NE(p, nullptr);
  char *unit =
      reinterpret_cast<char *>(align_down(reinterpret_cast<uintptr_t>(p), kSuperpageBytes));
  const uint64_t before = counters.superpages_now.get();
  big.given_back(unit + 2 * kMiB, 2 * kMiB); // whole
  EXPECT_EQ(counters.demotions.get(), 0u);
  big.given_back(unit + 5 * kMiB, 2 * kMiB); // parts of the third and the fourth
  EXPECT_EQ(counters.demotions.get(), 2u);
  EXPECT_EQ(counters.superpages_now.get(), before - 2);
  EXPECT_TRUE(FakeOs::refused.count(unit + 4 * kMiB) && FakeOs::refused.count(unit + 6 * kMiB));
  big.given_back(unit + 5 * kMiB, 4096); // recorded already
  EXPECT_EQ(counters.demotions.get(), 2u);
  EXPECT_TRUE(big.check_invariants());
  EXPECT_TRUE(big.release(p));
  big.given_back(unit + 5 * kMiB, 4096); // free memory
  EXPECT_EQ(counters.demotions.get(), 2u);
  EXPECT_TRUE(big.check_invariants());
}
TEST_F(BigObjectsTest, PromotedPartsGivenBackByTheProgramAreBasePagesAgain) {
  char *p = make(8 * kMiB, false);
  ASSERT_NE(p, nullptr);
  Price price;
  big.promote(big.find(p), price, uint64_t{1} << 40, uint64_t{1} << 40, true);
  const uint64_t before = counters.superpages_now.get();
  ASSERT_GT(before, 1u);
  char *unit =
      reinterpret_cast<char *>(align_down(reinterpret_cast<uintptr_t>(p), kSuperpageBytes));
  big.given_back(unit + 4096, 4096);
  EXPECT_EQ(counters.superpages_now.get(), before - 1);
  EXPECT_FALSE(big.counts_superpage(unit));
  EXPECT_TRUE(big.counts_superpage(unit + kSuperpageBytes));
  EXPECT_TRUE(big.check_invariants());
  EXPECT_TRUE(big.release(p));
}
} // namespace
} // namespace smalloc
