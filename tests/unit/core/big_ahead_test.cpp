// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// big_ahead_test.cpp tests look_ahead(): a scripted program fills a big object. look_ahead() gives
// superpages in front of the fill, and never more than the window to memory that stays untouched.
#include "tests/unit/core/big_ahead_fixture.h"

#include <cerrno>
#include <vector>

namespace smalloc {
namespace {
TEST_F(BigAheadTest, AnUntouchedObjectHasNoSuperpages) {
  char *p = make(100);
  EXPECT_EQ(superpages_of(p), 0u);
  EXPECT_TRUE(is_advised_against(p, 0));
  EXPECT_EQ(big.watched(), 1u);
  EXPECT_FALSE(look());
  EXPECT_EQ(given, 0u);
  EXPECT_EQ(superpages_of(p), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
  ASSERT_TRUE(big.check_invariants());
}

/// The helper thread is woken once for each object, to observe its fill from the beginning.
TEST_F(BigAheadTest, SaysOnceThatAnObjectBeganToBeWatched) {
  EXPECT_FALSE(big.watch_begun());
  for (int k = 0; k < 2; k++) {
    make(100);
    EXPECT_TRUE(big.watch_begun());
    EXPECT_FALSE(big.watch_begun());
  }
}

TEST_F(BigAheadTest, AFilledProbeGivesTheWindow) {
  char *p = make(100);
  fill(p, 0, 300);
  EXPECT_TRUE(look()); // it grows
  EXPECT_EQ(superpages_of(p), 0u);
  EXPECT_FALSE(big.next_unrecorded());
  fill(p, 0);
  EXPECT_TRUE(look());
  EXPECT_EQ(superpages_of(p), kLeastWindow);
  EXPECT_EQ(big.next_unrecorded().object, big.find(p).object); // recorded for its site
  EXPECT_FALSE(big.next_unrecorded());
  EXPECT_EQ(given, kLeastWindow);
  EXPECT_EQ(FakeOs::advised[unit(p, 1)], kLeastWindow * kSuperpageBytes);
  EXPECT_TRUE(FakeOs::collapsed.empty());
  EXPECT_FALSE(look()); // the next probe is empty
  EXPECT_EQ(superpages_of(p), kLeastWindow);
  EXPECT_EQ(given, kLeastWindow);
  EXPECT_EQ(region.charged_superpages(), kLeastWindow);
  ASSERT_TRUE(big.check_invariants());
}

/// The contents of a superpage show a fill: no further probe on base pages is needed.
TEST_F(BigAheadTest, AUnitThatHoldsDataIsReplacedByTheNextInTheWindow) {
  char *p = make(100);
  size_t written = 1; // in units
  FakeOs::holds_data = [&](const char *u) { return u < unit(p, written); };
  fill(p, 0);
  EXPECT_TRUE(look());
  EXPECT_EQ(superpages_of(p), kLeastWindow);
  for (; written < 98; written++) {
    EXPECT_TRUE(look() || written == 1) << written;
    EXPECT_EQ(given, kLeastWindow) << written;
    EXPECT_EQ(superpages_of(p), written - 1 + kLeastWindow);
  }
  written = 100;
  while (big.watched() && look()) {
  }
  EXPECT_EQ(superpages_of(p), 99u); // all but the first
  EXPECT_EQ(given, 0u);
  EXPECT_EQ(big.watched(), 0u);
  EXPECT_TRUE(FakeOs::collapsed.empty());
  ASSERT_TRUE(big.check_invariants());
}

TEST_F(BigAheadTest, AFillThatStopsHasTheWindowInFrontOfItAndIsNoSparseObject) {
  const uint64_t history = FillHistory::key(this, 40 * kMiB);
  char *p = make(20, history);
  FakeOs::holds_data = [&](const char *u) { return u < unit(p, 10); };
  fill(p, 0);
  for (int k = 0; k < 20; k++)
    look();
  EXPECT_EQ(superpages_of(p), 9u + kLeastWindow);
  FakeOs::holds_data = [&](const char *u) { return u < unit(p, 19); };
  for (int k = 0; k < 20; k++)
    look(); // the last unit is filled with zeros
  EXPECT_EQ(superpages_of(p), 19u);
  EXPECT_EQ(given, 1u);
  EXPECT_TRUE(big.release(p));
  EXPECT_FALSE(big.fills().knows_sparse(history));
  EXPECT_EQ(big.watched(), 0u);
}

TEST_F(BigAheadTest, TheWindowGrowsWithResidentMemory) {
  char *p = make(100);
  fill(p, 0);
  EXPECT_TRUE(look(1000 * kMiB));
  EXPECT_EQ(superpages_of(p), 10u);
}

TEST_F(BigAheadTest, TheWindowIsTheProcess) {
  char *p = make(100), *q = make(100);
  fill(p, 0);
  fill(q, 0);
  look();
  EXPECT_EQ(superpages_of(p) + superpages_of(q), kLeastWindow);
}

TEST_F(BigAheadTest, ADenseHeaderGivesASparseRestNoMoreThanTheWindow) {
  char *p = make(100);
  for (int i = 0; i < 10; i++)
    fill(p, static_cast<size_t>(i));
  // Fewer than an early probe needs.
  for (int i = 10; i < 100; i++)
    fill(p, static_cast<size_t>(i), 15);
  for (int k = 0; k < 50; k++)
    look();
  // Probes among the ten are filled. Behind the last of them the window applies.
  EXPECT_LE(counters.superpages_ahead.get(), 10u + kLeastWindow);
  for (uint32_t i = 10 + kLeastWindow; i < 100; i++)
    EXPECT_EQ(FakeOs::advised.count(unit(p, i)), 0u) << i;
  ASSERT_TRUE(big.check_invariants());
}

TEST_F(BigAheadTest, AProbeThatFillsInOrderIsBelievedBeforeItIsFull) {
  char *p = make(100);
  fill(p, 0, 400);
  EXPECT_TRUE(look());
  EXPECT_EQ(superpages_of(p), 0u); // the first one has to be full
  fill(p, 0);
  look();
  fill(p, 3, 300);
  EXPECT_TRUE(look());
  EXPECT_EQ(superpages_of(p), kLeastWindow);
  fill(p, 3, 400);
  EXPECT_TRUE(look());
  EXPECT_EQ(superpages_of(p), 2 * kLeastWindow);
  EXPECT_TRUE(FakeOs::collapsed.empty());
}

TEST_F(BigAheadTest, UnitsFilledSinceTheLastLookArePassedOver) {
  char *p = make(100);
  for (size_t i = 0; i < 20; i++)
    fill(p, i);
  fill(p, 20, 100); // being filled now
  EXPECT_TRUE(look());
  EXPECT_EQ(superpages_of(p), kLeastWindow);
  EXPECT_EQ(FakeOs::advised.count(unit(p, 21)), 1u);
  EXPECT_TRUE(FakeOs::collapsed.empty());
}

TEST_F(BigAheadTest, UnitsThatTookLongerThanTheProbeEndIt) {
  char *p = make(400);
  constexpr uint64_t kBaseNs = 1000000, kExpensiveNs = 9000000;
  size_t next = 0;
  for (int cycle = 0; cycle < 4 && !price.too_expensive(); cycle++) {
    fill(p, next, 1); // the program reaches the probe
    look();
    FakeOs::clock_ns += kBaseNs;
    fill(p, next);
    look();
    FakeOs::clock_ns += kLeastWindow * kExpensiveNs; // it fills the units in front
    next += 1 + kLeastWindow;
  }
  EXPECT_TRUE(price.too_expensive());
}

TEST_F(BigAheadTest, AFillInAnotherOrderWaitsUntilItsProbeIsFull) {
  char *p = make(100);
  fill(p, 0);
  look();
  fill(p, 3, 80, 2); // 40 pages, with gaps
  EXPECT_TRUE(look());
  EXPECT_TRUE(FakeOs::collapsed.empty());
  EXPECT_EQ(superpages_of(p), kLeastWindow);
  fill(p, 3);
  EXPECT_TRUE(look());
  EXPECT_EQ(superpages_of(p), 2 * kLeastWindow);
}

/// A table that is filled at random: frequent looks would find nothing to give before its probe is
/// full.
TEST_F(BigAheadTest, AFillInAnyOrderAsksForNoFurtherLooks) {
  char *p = make(100);
  fill(p, 0, 60, 3);
  EXPECT_TRUE(look()); // it may be in order still
  for (size_t end = 300; end < 510; end += 30) {
    fill(p, 0, end, 3);
    EXPECT_FALSE(look()) << end;
  }
  fill(p, 0);
  EXPECT_TRUE(look());
  EXPECT_EQ(superpages_of(p), kLeastWindow);
}

/// The program will use it in no order, too: four times as much of its time pays for collapses.
TEST_F(BigAheadTest, AnObjectFilledInAnyOrderEarnsMoreOfTheTime) {
  char *table = make(100), *array = make(100);
  for (size_t end = 60; end < 510; end += 120) {
    fill(table, 0, end, 3);
    fill(array, 0, end);
    look();
  }
  for (size_t i = 0; i < 60; i++) {
    fill(table, i);
    fill(array, i);
  }
  const size_t before = FakeOs::collapsed.size();
  Price collapse;
  const uint64_t elapsed = kTimePerCollapseTimeInAnyOrder * Ledger::kStartPriceNs * 7 / 2;
  big.promote_by_time(big.find(array), collapse, elapsed, UINT64_MAX, false);
  EXPECT_EQ(FakeOs::collapsed.size(), before);
  EXPECT_FALSE(big.is_funded());
  big.promote_by_time(big.find(table), collapse, elapsed, 0, false); // stops after the first
  EXPECT_EQ(FakeOs::collapsed.size(), before + 1);
  EXPECT_TRUE(big.is_funded());
  big.promote_by_time(big.find(table), collapse, 0, UINT64_MAX, false);
  EXPECT_GT(FakeOs::collapsed.size(), before + 1);
  EXPECT_FALSE(big.is_funded());
}

TEST_F(BigAheadTest, NothingIsGivenWhileSuperpagesAreTooExpensive) {
  char *p = make(100);
  price.account(50000000);
  ASSERT_TRUE(price.too_expensive());
  fill(p, 0);
  EXPECT_TRUE(look());
  EXPECT_EQ(superpages_of(p), 0u);
  fill(p, 1, 40);
  look();
  EXPECT_EQ(superpages_of(p), 0u);
  EXPECT_EQ(FakeOs::collapsed.size(), 0u);
  FakeOs::clock_ns += FirstTouchCost::kFirstPauseNs;
  fill(p, 1);
  EXPECT_TRUE(look());
  EXPECT_EQ(superpages_of(p), kLeastWindow);
}

TEST_F(BigAheadTest, TheBudgetBoundsWhatIsGiven) {
  Region::Config config = FakeOs::config();
  config.budget.bytes = 5 * kSuperpageBytes;
  start(config);
  char *p = make(100);
  for (size_t i = 0; i < 100; i++) {
    fill(p, i);
    look();
    ASSERT_LE(region.charged_superpages(), 5u);
  }
  EXPECT_EQ(superpages_of(p), 5u); // twice the window, and the last unit
  EXPECT_EQ(big.watched(), 0u);
  EXPECT_TRUE(big.check_invariants());
  EXPECT_TRUE(big.release(p));
  EXPECT_EQ(region.charged_superpages(), 0u);
  EXPECT_EQ(counters.mappings.get(), 0u);
}

TEST_F(BigAheadTest, WithoutMappingsForItsAdviceAnObjectHasItsSuperpagesAtOnce) {
  Region::Config config = FakeOs::config();
  config.mapping_limit = 8 * 3; // an object takes two, its advice two more
  start(config);
  char *p = make(100);
  EXPECT_EQ(superpages_of(p), 100u);
  EXPECT_EQ(region.charged_superpages(), 100u);
  EXPECT_EQ(counters.mappings.get(), 2u);
  EXPECT_EQ(big.watched() + pending, 0u);
  EXPECT_TRUE(big.check_invariants());
  EXPECT_TRUE(big.release(p));
  big.trim();
  EXPECT_EQ(region.charged_superpages(), 0u);
  EXPECT_EQ(counters.mappings.get(), 0u);
}

TEST_F(BigAheadTest, AdviceThatIsRefusedCostsNothing) {
  char *p = make(100);
  const uint64_t mappings = counters.mappings.get();
  fill(p, 0);
  FakeOs::advise_error = ENOMEM;
  look();
  EXPECT_EQ(superpages_of(p), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
  EXPECT_EQ(counters.mappings.get(), mappings);
  FakeOs::advise_error = 0;
  EXPECT_TRUE(big.release(p));
  EXPECT_EQ(counters.mappings.get(), 0u);
}

TEST_F(BigAheadTest, PagesOfAPoolAreSuperpagesOrAreNotTaken) {
  start(FakeOs::config(), PageBacking::kHugetlb);
  char *p = make(5);
  ASSERT_NE(p, nullptr);
  const uint64_t taken = counters.pool_units[static_cast<unsigned>(PageKind::kHugetlb)].get();
  EXPECT_EQ(superpages_of(p), taken);
  EXPECT_EQ(region.charged_superpages(), taken);
  EXPECT_TRUE(taken == 0 || FakeOs::refused.empty()); // advice does not affect pool pages
  EXPECT_TRUE(big.release(p));
  EXPECT_TRUE(FakeOs::pooled.empty());
  EXPECT_EQ(region.charged_superpages(), 0u);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
}

TEST_F(BigAheadTest, AnObjectMayBeResizedWhileItIsWatched) {
  char *p = make(100);
  fill(p, 0);
  look();
  make(1);                                                  // behind it
  EXPECT_EQ(big.resize(p, 300 * kSuperpageBytes), nullptr); // its mappings do not move as one
  EXPECT_EQ(big.watched(), 2u);
  for (const size_t units : {size_t{50}, size_t{90}, size_t{2}}) {
    EXPECT_EQ(big.resize(p, units * kSuperpageBytes - 65536), p);
    look();
    EXPECT_TRUE(big.check_invariants()) << units;
    EXPECT_EQ(region.charged_superpages(), counters.superpages_now.get());
  }
  EXPECT_EQ(big.watched(), 1u); // its probe was cut off
  EXPECT_EQ(given, 0u);
  EXPECT_TRUE(big.release(p));
  big.trim();
  EXPECT_EQ(region.charged_superpages(), 0u);
  EXPECT_EQ(counters.mappings.get(), 4u); // the other object's
}

TEST_F(BigAheadTest, AUnitThatHoldsAPageIsCollapsed) {
  char *p = make(100);
  for (size_t i = 0; i < 100; i++)
    fill(p, i, 1);
  fill(p, 0);
  EXPECT_TRUE(look());
  EXPECT_EQ(FakeOs::collapsed.count(unit(p, 1)), 1u);
  EXPECT_EQ(FakeOs::collapsed.count(unit(p, 2)), 1u);
  EXPECT_EQ(FakeOs::collapsed.count(unit(p, 3)), 0u);
  EXPECT_EQ(superpages_of(p), 2u);
}

TEST_F(BigAheadTest, AUnitWhoseCollapseIsRefusedIsNoSuperpage) {
  char *p = make(100);
  fill(p, 0);
  fill(p, 1, 1);
  FakeOs::collapse_result = [](char *) { return EAGAIN; };
  EXPECT_TRUE(look());
  EXPECT_EQ(superpages_of(p), 1u); // the other unit was empty
  EXPECT_EQ(given, kLeastWindow);  // which was advised all the same
  EXPECT_EQ(region.charged_superpages(), 1u);
  fill(p, 3, 40);
  EXPECT_TRUE(look());
  EXPECT_EQ(superpages_of(p), 1u);
  EXPECT_EQ(region.charged_superpages(), 1u);
  ASSERT_TRUE(big.check_invariants());
  EXPECT_TRUE(big.release(p));
  EXPECT_EQ(counters.mappings.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
}

TEST_F(BigAheadTest, AFilledObjectIsOneMappingAndItsOriginIsTrusted) {
  const uint64_t history = FillHistory::key(this, 40 * kMiB);
  char *p = make(20, history);
  for (size_t i = 0; i < 20; i++)
    fill(p, i);
  EXPECT_FALSE(big.fills().trusts(history + 64));
  while (big.watched())
    look();
  EXPECT_EQ(counters.mappings.get(), 2u);
  EXPECT_TRUE(big.fills().trusts(history));
  ASSERT_TRUE(big.check_invariants());
  EXPECT_TRUE(big.release(p));
  EXPECT_EQ(counters.mappings.get(), 0u);
  EXPECT_EQ(pending, 0u);
}

TEST_F(BigAheadTest, AnObjectMayGoWhileItIsWatched) {
  char *p = make(100);
  fill(p, 0);
  look();
  EXPECT_TRUE(big.release(p));
  EXPECT_EQ(big.watched(), 0u);
  EXPECT_EQ(pending, 0u);
  EXPECT_EQ(counters.mappings.get(), 0u);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
  EXPECT_FALSE(look());
  ASSERT_TRUE(big.check_invariants());
  // Its share of the window is free again.
  pages.clear();
  char *q = make(100);
  fill(q, 0);
  look();
  EXPECT_EQ(superpages_of(q), kLeastWindow);
}

TEST_F(BigAheadTest, AFreedSparseObjectIsRememberedOnceLooksFoundItStill) {
  const uint64_t history = FillHistory::key(this, 40 * kMiB);
  char *p = make(20, history);
  for (size_t i = 0; i < 20; i++)
    fill(p, i);
  EXPECT_FALSE(big.fills().trusts(history)); // no look has happened
  look();
  EXPECT_TRUE(big.fills().trusts(history));
  big.release(p);
  pages.clear();
  p = make(20, history);
  look();
  big.release(p); // freed before it could be filled: no information
  EXPECT_TRUE(big.fills().trusts(history));
  p = make(20, history);
  for (int k = 0; k < 3; k++)
    look();
  big.release(p);
  EXPECT_FALSE(big.fills().trusts(history));
  EXPECT_TRUE(big.fills().knows_sparse(history));
}

TEST_F(BigAheadTest, AnArrayThatEndsHalfFilledIsNoSparseObject) {
  const uint64_t history = FillHistory::key(this, 40 * kMiB);
  for (const size_t filled : {12, 5}) {
    char *p = make(20, history);
    for (size_t i = 0; i < filled; i++) {
      fill(p, i);
      look();
    }
    for (int k = 0; k < 3; k++)
      look();
    big.release(p);
    pages.clear();
    EXPECT_EQ(big.fills().knows_sparse(history), filled < 10);
  }
}

TEST_F(BigAheadTest, AnObjectOnBasePagesIsWatchedForItsOriginAlone) {
  const uint64_t history = FillHistory::key(this, 6 * kMiB);
  for (int k = 0; k < 2; k++) {
    BigRequest r;
    r.bytes = 6 * kMiB;
    r.history = history;
    auto *p = static_cast<char *>(big.allocate(r));
    ASSERT_EQ(region.slice_of(p), Slice::kBigBase);
    EXPECT_EQ(big.watched(), 1u);
    const UnitIndex first = region.unit_of(Slice::kBigBase, p);
    for (UnitIndex i = 0; i < 3; i++)
      pages[region.unit_address(Slice::kBigBase, first + i)].set();
    EXPECT_FALSE(big.fills().trusts(history));
    look();
    EXPECT_EQ(big.watched(), 0u);
    EXPECT_EQ(superpages_of(p), 0u);
    EXPECT_EQ(FakeOs::advices, 0u);
    big.release(p);
    pages.clear();
  }
  EXPECT_TRUE(big.fills().trusts(history));
}

TEST_F(BigAheadTest, GrowthBeyondWhatIsFilledIsWithheld) {
  char *p = make(8);
  for (size_t i = 0; i < 8; i++)
    fill(p, i);
  while (big.watched())
    look();
  const uint32_t before = superpages_of(p);
  ASSERT_EQ(big.resize(p, 12 * kSuperpageBytes), p);
  EXPECT_GE(superpages_of(p), before + 3); // growth by a half is a list that grows
  ASSERT_EQ(big.resize(p, 200 * kSuperpageBytes), p);
  EXPECT_LE(superpages_of(p), before + 5);
  EXPECT_EQ(big.watched(), 1u);
  ASSERT_TRUE(big.check_invariants());
  for (size_t i = 8; i < 200; i++)
    fill(p, i);
  for (int k = 0; k < 100 && big.watched(); k++)
    look();
  EXPECT_TRUE(big.check_invariants());
  big.release(p);
  EXPECT_EQ(region.charged_superpages(), 0u);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(counters.mappings.get(), 0u);
}

TEST_F(BigAheadTest, MoreObjectsThanItCanWatchAreLeftToThePromoter) {
  std::vector<char *> all;
  for (int k = 0; k < 80; k++)
    all.push_back(make(8));
  EXPECT_EQ(big.watched(), 64u);
  EXPECT_EQ(pending, 80u);
  for (char *p : all)
    EXPECT_TRUE(big.release(p));
  EXPECT_EQ(big.watched(), 0u);
  EXPECT_EQ(counters.mappings.get(), 0u);
}

/// The helper thread is too late for an object that is filled, used and freed at once.
TEST_F(BigAheadTest, AnObjectThatIsFreedFullCountsAsFilled) {
  const uint64_t history = FillHistory::key(this, 40 * kMiB);
  for (const size_t filled : {19u, 20u}) {
    char *p = make(20, history);
    for (size_t i = 0; i < filled; i++)
      pages[unit(p, i)].set();
    EXPECT_FALSE(big.fills().trusts(history));
    EXPECT_TRUE(big.release(p));
    EXPECT_EQ(big.fills().trusts(history), filled == 20) << filled;
  }
}

/// All its pages are resident from the first touches on. Only its contents show the fill.
TEST_F(BigAheadTest, AnObjectBornOnSuperpagesCountsAsFilledIfItHoldsData) {
  for (const bool holds : {false, true}) {
    BigRequest r;
    r.bytes = 15 * kSuperpageBytes, r.superpages_at_first_touch = true;
    r.history = FillHistory::key(this, 40 * kMiB);
    FakeOs::holds_data = [=](const char *) { return holds; };
    for (int k = 0; k < 2; k++) {
      EXPECT_FALSE(big.fills().trusts(r.history));
      EXPECT_TRUE(big.release(big.allocate(r)));
    }
    EXPECT_EQ(big.fills().trusts(r.history), holds);
  }
}

/// The compiler knows what is about to be written: no probe, and no window.
TEST_F(BigAheadTest, AFillPointGivesItsRange) {
  char *p = make(100);
  big.fill(big.find(p), unit(p, 10), 20 * kSuperpageBytes);
  EXPECT_EQ(superpages_of(p), 20u);
  EXPECT_EQ(FakeOs::advised[unit(p, 10)], 20 * kSuperpageBytes);
  EXPECT_EQ(given, 0u);
  big.fill(big.find(p), unit(p, 10), 20 * kSuperpageBytes); // written again
  EXPECT_EQ(superpages_of(p), 20u);
  EXPECT_EQ(region.charged_superpages(), 20u);
  ASSERT_TRUE(big.check_invariants());
}

/// A loop writes its array in each step. Memory that is on base pages stays there, at no further
/// cost.
TEST_F(BigAheadTest, MemoryThatIsWrittenAgainIsLookedAtAndLeft) {
  char *p = make(100);
  for (size_t i = 0; i < 100; i++)
    fill(p, i);
  const uint64_t mappings = counters.mappings.get();
  const unsigned advices = FakeOs::advices;
  for (int step = 0; step < 50; step++)
    big.fill(big.find(p), p, 0);
  EXPECT_EQ(superpages_of(p), 0u);
  EXPECT_EQ(counters.mappings.get(), mappings);
  EXPECT_EQ(FakeOs::advices, advices);
  ASSERT_TRUE(big.check_invariants());
}

TEST_F(BigAheadTest, AUnitOfWhichAnEighthIsMissingIsWritten) {
  char *p = make(100);
  constexpr size_t kEighth = kSuperpageBytes / 8;
  big.fill(big.find(p), unit(p, 10) + kEighth, 2 * kSuperpageBytes - 2 * kEighth);
  EXPECT_EQ(superpages_of(p), 2u);
  big.fill(big.find(p), unit(p, 20) + kEighth + 1, 2 * kSuperpageBytes - 2 * kEighth - 2);
  EXPECT_EQ(superpages_of(p), 2u);
}

TEST_F(BigAheadTest, AFillOfAllMakesTheObjectOneMappingAndItsOriginTrusted) {
  const uint64_t history = FillHistory::key(this, 400 * kMiB);
  char *p = make(200, history); // more than are given at once
  fill(p, 3, 100);              // resident already: no superpage
  big.fill(big.find(p), p, 0);
  EXPECT_EQ(superpages_of(p), 199u);
  EXPECT_EQ(counters.mappings.get(), 2u);
  EXPECT_EQ(big.watched(), 0u);
  EXPECT_TRUE(big.fills().trusts(history));
  ASSERT_TRUE(big.check_invariants());
  EXPECT_TRUE(big.release(p));
  big.trim();
  EXPECT_EQ(region.charged_superpages(), 0u);
  EXPECT_EQ(counters.mappings.get(), 0u);
}

TEST_F(BigAheadTest, AFillPointStaysWithinTheObjectAndTheBudget) {
  Region::Config config = FakeOs::config();
  config.budget.bytes = 5 * kSuperpageBytes;
  start(config);
  char *p = make(10);
  big.fill(big.find(p), unit(p, 6), SIZE_MAX / 2);
  EXPECT_EQ(superpages_of(p), 4u);
  big.fill(big.find(p), p, 0);
  EXPECT_LE(region.charged_superpages(), 5u);
  ASSERT_TRUE(big.check_invariants());
}

} // namespace
} // namespace smalloc
