// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of the four rules for superpages: one user: move whole; separable: split and move; hot and
// mixed: interleave; else leave. Also tests the collapse after three quiet intervals.
#include "tests/unit/numa/fake_machine.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace smalloc::numa {
namespace {

PolicyOptions options() {
  PolicyOptions o;
  o.sample_period = 100;
  return o;
}

struct SuperpageMachine : FakeMachine {
  SuperpageMachine(unsigned nodes, const PolicyOptions &o, unsigned units = 1)
      : FakeMachine(fake_topology(nodes), o, units) {
    for (Unit *u : unit)
      u->granularity = Granularity::kSuperpage;
  }
  /// Runs one interval.
  void grow_up() { policy.next_interval(unit.data(), unit.size()); }
};

size_t count(const std::vector<Move> &moves, Action action) {
  return static_cast<size_t>(
      std::count_if(moves.begin(), moves.end(), [&](const Move &m) { return m.action == action; }));
}

} // namespace

TEST(MigrationSuperpage, MovesWholeFromEightyPercentOn) {
  for (unsigned of_ten : {8u, 7u}) {
    PolicyOptions o = options();
    o.interleave_above = 0;
    SuperpageMachine m(2, o);
    for (unsigned p = 0; p < kPagesPerUnit; p++) {
      m.access(0, p, 1, of_ten);
      m.access(0, p, 0, 10 - of_ten);
    }
    auto moves = m.interval();
    if (of_ten == 8) {
      ASSERT_EQ(moves.size(), 1u);
      EXPECT_EQ(moves[0].action, Action::kMoveUnit);
      EXPECT_EQ(moves[0].to, 1);
      for (unsigned p = 0; p < kPagesPerUnit; p++)
        ASSERT_EQ(m.unit[0]->page[p].home(), 1);
      EXPECT_EQ(m.unit[0]->granularity, Granularity::kSuperpage);
    } else {
      EXPECT_EQ(count(moves, Action::kMoveUnit), 0u);
      EXPECT_EQ(m.policy.counters().mixed_left, 1u);
    }
  }
}

// Page-level false sharing: each half of the superpage has one user.
TEST(MigrationSuperpage, SplitsWhatIsSeparable) {
  SuperpageMachine m(2, options());
  for (unsigned p = 0; p < kPagesPerUnit; p++)
    m.access(0, p, p < kPagesPerUnit / 2 ? 0 : 1, 20);
  auto moves = m.interval();
  ASSERT_EQ(moves.size(), 1 + kPagesPerUnit / 2);
  EXPECT_EQ(moves[0].action, Action::kSplit);
  for (unsigned p = 0; p < kPagesPerUnit; p++)
    ASSERT_EQ(m.unit[0]->page[p].home(), p < kPagesPerUnit / 2 ? 0 : 1) << p;
  EXPECT_EQ(m.unit[0]->granularity, Granularity::kPages);
  EXPECT_EQ(m.policy.counters().splits, 1u);
}

TEST(MigrationSuperpage, DoesNotSplitForAGainThatTheWalksWouldEat) {
  PolicyOptions o = options();
  o.superpage_saves_ns_per_access = 60; // > half of the pages x 100 ns
  o.interleave_above = 0;
  SuperpageMachine m(2, o);
  for (unsigned p = 0; p < kPagesPerUnit; p++)
    m.access(0, p, p < kPagesPerUnit / 2 ? 0 : 1, 20);
  EXPECT_TRUE(m.interval().empty());
}

// Two samples a page: by their maxima, random users look like 75 % dominance. The superpages must
// not be split.
TEST(MigrationSuperpage, IsNotFooledByFewSamples) {
  PolicyOptions o = options();
  o.sample_period = 10000; // so that no move fails for lack of benefit
  o.interleave_above = 0;
  SuperpageMachine m(4, o);
  std::mt19937 random(7);
  for (unsigned p = 0; p < kPagesPerUnit; p++)
    for (unsigned s = 0; s < 2; s++)
      m.access(0, p, static_cast<uint8_t>(random() % 4), 1);
  EXPECT_TRUE(m.interval().empty());
}

// In a superpage's first interval a sampler sees which node uses which part, but not each page. If
// the superpage moved whole for balance now, it could not be split for three intervals.
TEST(MigrationSuperpage, SplitsByLargerPiecesWhatWasHardlySampled) {
  PolicyOptions o = options();
  o.sample_period = 10000;
  o.neighbours = true;
  SuperpageMachine m(2, o, 2);
  m.grow_up();
  for (unsigned u = 0; u < 2; u++)
    for (unsigned p = 0; p < kPagesPerUnit; p += 16) // 32 samples, at most one a page
      m.access(u, p, p < kPagesPerUnit / 2 ? 0 : 1, 1);
  auto moves = m.interval();
  EXPECT_EQ(count(moves, Action::kSplit), 2u);
  EXPECT_EQ(count(moves, Action::kInterleave), 0u);
  for (Unit *u : m.unit)
    for (unsigned p = 0; p < kPagesPerUnit; p++)
      ASSERT_EQ(u->page[p].home(), p < kPagesPerUnit / 2 ? 0 : 1) << p;
}

TEST(MigrationSuperpage, WaitsUntilTheUsersOfItsPartsAreKnown) {
  PolicyOptions o = options();
  o.sample_period = 1000000;
  o.neighbours = true;
  SuperpageMachine m(2, o, 2);
  m.grow_up();
  for (unsigned u = 0; u < 2; u++)
    for (unsigned i = 0; i < 12; i++)
      m.access(u, i * 40, i < 6 ? 0 : 1, 1);
  EXPECT_TRUE(m.interval().empty());
  EXPECT_EQ(m.policy.counters().mixed_left, 2u);
  // The next interval has enough samples.
  for (unsigned u = 0; u < 2; u++)
    for (unsigned i = 0; i < 24; i++)
      m.access(u, i * 20 + 10, i < 12 ? 0 : 1, 1);
  EXPECT_EQ(count(m.interval(), Action::kSplit), 2u);
}

// One node initialises, another one begins to use it before the interval is over.
TEST(MigrationSuperpage, DoesNotTakeACompletedInitialisationForAUser) {
  PolicyOptions o = options();
  o.neighbours = true;
  SuperpageMachine m(2, o, 2);
  for (unsigned u = 0; u < 2; u++)
    for (unsigned p = 0; p < kPagesPerUnit; p++)
      m.access(u, p, p < kPagesPerUnit / 2 ? 0 : 1, 4);
  EXPECT_TRUE(m.interval().empty());
  for (unsigned u = 0; u < 2; u++)
    for (unsigned p = 0; p < kPagesPerUnit; p++)
      m.access(u, p, 1, 10);
  auto moves = m.interval();
  EXPECT_EQ(moves.size(), 2u);
  EXPECT_EQ(count(moves, Action::kMoveUnit), 2u);
}

// Two nodes use all superpages alike, but in the first interval one of them hardly gets a
// processor. Half of the superpages move, for balance, and none moves to and fro.
TEST(MigrationSuperpage, DoesNotTakeAProcessorThatHadToWaitForNobody) {
  PolicyOptions o = options();
  o.sample_period = 3000;
  o.neighbours = true;
  SuperpageMachine m(2, o, 8);
  size_t moves = 0;
  for (unsigned i = 0; i < 15; i++) {
    for (unsigned u = 0; u < 8; u++)
      for (unsigned p = 0; p < kPagesPerUnit; p += 8) {
        m.access(u, p, 1, 2);
        m.access(u, p, 0, i == 0 ? p % 64 == 0 : 2);
      }
    moves += m.interval().size();
  }
  EXPECT_EQ(moves, 4u);
  EXPECT_EQ(m.policy.counters().interleaved, 4u);
}

// The same with equal shares, but half of all samples are of one page, whose variables both nodes
// read and the caches serve. Wherever that page lies, it must not crowd all superpages on the other
// node, or send them back when it has moved.
TEST(MigrationSuperpage, DoesNotBalanceAgainstAPageThatTheCachesServe) {
  PolicyOptions o = options();
  o.sample_period = 3000;
  o.neighbours = true;
  SuperpageMachine m(2, o, 9);
  m.unit[8]->granularity = Granularity::kPages;
  size_t moves = 0;
  for (unsigned i = 0; i < 15; i++) {
    for (unsigned u = 0; u < 8; u++)
      for (unsigned p = 0; p < kPagesPerUnit; p += 8)
        for (uint8_t node = 0; node < 2; node++)
          m.access(u, p, node, 1);
    for (uint8_t node = 0; node < 2; node++)
      m.access(8, 7, node, 512);
    if (i == 5)
      MigrationPolicy::placed(*m.unit[8], 7, 1);
    moves += m.interval().size();
  }
  EXPECT_EQ(moves, 4u);
  EXPECT_EQ(m.policy.counters().interleaved, 4u);
}

// Random users, sampled once in every four pages: no part has one user.
TEST(MigrationSuperpage, IsNotFooledByLargerPieces) {
  unsigned splits = 0;
  for (unsigned seed = 0; seed < 100; seed++) {
    PolicyOptions o = options();
    o.sample_period = 10000;
    o.neighbours = true;
    SuperpageMachine m(2, o);
    m.grow_up();
    std::mt19937 random(seed);
    for (unsigned p = 0; p < kPagesPerUnit; p += 4)
      m.access(0, p, static_cast<uint8_t>(random() % 2), 1);
    splits += count(m.interval(), Action::kSplit) > 0;
  }
  EXPECT_LE(splits, 2u);
}

TEST(MigrationSuperpage, InterleavesWhatIsHotAndMixedOnABusyNode) {
  SuperpageMachine m(4, options(), 16);
  for (unsigned u = 0; u < 16; u++)
    for (unsigned p = 0; p < kPagesPerUnit; p++)
      for (uint8_t n = 0; n < 4; n++)
        m.access(u, p, n, 5);
  auto moves = m.interval();
  EXPECT_EQ(moves.size(), 12u);
  EXPECT_EQ(count(moves, Action::kInterleave), moves.size());
  unsigned on[4] = {};
  for (Unit *u : m.unit)
    on[u->page[0].home()]++;
  for (unsigned n : on)
    EXPECT_EQ(n, 4u);
  EXPECT_EQ(m.policy.counters().interleaved, 12u);
}

TEST(MigrationSuperpage, LeavesTheColdAndTheMixed) {
  PolicyOptions o = options();
  SuperpageMachine cold(2, o);
  cold.access(0, 5, 1, 1);
  EXPECT_TRUE(cold.interval().empty());
  // Mixed, but the nodes are already balanced.
  SuperpageMachine mixed(2, o, 2);
  for (unsigned p = 0; p < kPagesPerUnit; p++)
    MigrationPolicy::placed(*mixed.unit[1], p, 1);
  for (unsigned u = 0; u < 2; u++)
    for (unsigned p = 0; p < kPagesPerUnit; p++)
      for (uint8_t n = 0; n < 2; n++)
        mixed.access(u, p, n, 5);
  EXPECT_TRUE(mixed.interval().empty());
  EXPECT_EQ(mixed.policy.counters().mixed_left, 2u);
}

TEST(MigrationSuperpage, CollapsesAfterThreeQuietIntervals) {
  PolicyOptions o = options();
  o.superpage_saves_ns_per_access = 5;
  SuperpageMachine m(2, o);
  auto halves = [&](uint8_t upper) {
    for (unsigned p = 0; p < kPagesPerUnit; p++)
      m.access(0, p, p < kPagesPerUnit / 2 ? 0 : upper, 20);
  };
  halves(1);
  ASSERT_EQ(count(m.interval(), Action::kSplit), 1u);
  // The program continues on node 0 alone: the pages come home, and then nothing moves for a while.
  size_t collapsed_at = 0, home_at = 0;
  for (size_t i = 1; i < 20 && !collapsed_at; i++) {
    halves(0);
    auto moves = m.interval();
    if (count(moves, Action::kMovePage))
      home_at = i;
    if (count(moves, Action::kCollapse))
      collapsed_at = i;
  }
  ASSERT_GT(home_at, 0u);
  EXPECT_EQ(collapsed_at, home_at + 4); // three whole intervals without a move, then the next plan
  EXPECT_EQ(m.unit[0]->granularity, Granularity::kSuperpage);
  EXPECT_FALSE(m.unit[0]->was_superpage);
}

TEST(MigrationSuperpage, DropsASplitNoneOfWhoseMovesIsAdmitted) {
  SuperpageMachine m(2, options());
  m.policy.set_free_bytes(1, 0);
  for (unsigned p = 0; p < kPagesPerUnit; p++)
    m.access(0, p, p < kPagesPerUnit / 2 ? 0 : 1, 20);
  EXPECT_TRUE(m.interval().empty());
  EXPECT_EQ(m.unit[0]->granularity, Granularity::kSuperpage);
}

} // namespace smalloc::numa
