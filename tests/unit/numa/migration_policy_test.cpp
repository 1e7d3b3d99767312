// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of migration_policy.h with synthetic streams on base pages. One sample stands for 100
// accesses and remote costs 100 ns more, so a saved sample is 10 us. Half of it counts (age 1/2).
#include "tests/unit/numa/fake_machine.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace smalloc::numa {
namespace {

PolicyOptions options() {
  PolicyOptions o;
  o.sample_period = 100;
  o.move_page_ns = 20000; // 20 us = 4 samples at the first interval
  o.imbalance_limit = 0;
  return o;
}

} // namespace

TEST(MigrationPolicy, MovesAPageToTheNodeThatUsesItMost) {
  FakeMachine m(fake_topology(4), options());
  m.access(0, 7, 2, 20);
  m.access(0, 7, 0, 5);
  auto moves = m.interval();
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(moves[0].page, 7);
  EXPECT_EQ(moves[0].from, 0);
  EXPECT_EQ(moves[0].to, 2);
  EXPECT_EQ(moves[0].action, Action::kMovePage);
  EXPECT_EQ(moves[0].address(), kSuperpageBytes + 7 * kBasePageBytes);
  // (20 - 5) samples x 100 accesses x 100 ns x 1/2 = 75 us an interval; horizon 1; 20 us for the
  // move.
  EXPECT_FLOAT_EQ(moves[0].saved_ns_interval, 75000);
  EXPECT_FLOAT_EQ(moves[0].benefit_ns, 55000);
}

TEST(MigrationPolicy, LeavesWhatWouldNotPayForItsMove) {
  FakeMachine m(fake_topology(2), options());
  m.access(0, 1, 1, 4); // 20 us: exactly the cost
  EXPECT_TRUE(m.interval().empty());
  EXPECT_EQ(m.policy.counters().not_worth, 1u);
  // The same stream pays after some intervals: a lasting saving is worth more.
  bool moved = false;
  for (int i = 0; i < 5 && !moved; i++) {
    m.access(0, 1, 1, 4);
    moved = !m.interval().empty();
  }
  EXPECT_TRUE(moved);
}

TEST(MigrationPolicy, PaperModeMovesWithoutAsking) {
  PolicyOptions o = PolicyOptions::paper();
  o.move_page_ns = 1e9;
  FakeMachine m(fake_topology(2), o);
  m.access(0, 1, 1, 1);
  m.access(0, 2, 1, 3);
  m.access(0, 2, 0, 3); // a tie stays at home
  auto moves = m.interval();
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(moves[0].page, 1);
}

TEST(MigrationPolicy, FreezesAMovedPageForThreeIntervals) {
  PolicyOptions o = PolicyOptions::paper();
  FakeMachine m(fake_topology(2), o);
  m.access(0, 3, 1, 5);
  ASSERT_EQ(m.interval().size(), 1u);
  for (int i = 0; i < 3; i++) { // it would move back at once
    m.access(0, 3, 0, 5);
    EXPECT_TRUE(m.interval().empty()) << "interval " << i;
  }
  EXPECT_EQ(m.policy.counters().frozen, 3u);
  m.access(0, 3, 0, 5);
  EXPECT_EQ(m.interval().size(), 1u);
}

TEST(MigrationPolicy, FreezesAPageThatCouldNotBeMoved) {
  FakeMachine m(fake_topology(2), options());
  m.access(0, 3, 1, 50);
  ASSERT_EQ(m.policy.plan(m.unit.data(), 1, m.out.data(), m.out.size()), 1u);
  m.policy.carried_out(m.out[0], false); // EBUSY
  m.policy.next_interval(m.unit.data(), 1);
  EXPECT_EQ(m.unit[0]->page[3].home(), 0);
  EXPECT_EQ(m.policy.counters().moved_pages, 0u);
  m.access(0, 3, 1, 50);
  EXPECT_TRUE(m.interval().empty());
}

TEST(MigrationPolicy, CountsDistancesNotOnlyLocality) {
  // Node 0 uses it for 40 %, nodes 2 and 3 for 30 % each; 2 and 3 are near each other, 0 is far
  // away.
  Topology t = fake_topology(4);
  t.latency_ns[2][3] = t.latency_ns[3][2] = 110;
  for (unsigned far : {2u, 3u})
    t.latency_ns[0][far] = t.latency_ns[far][0] = 400;
  FakeMachine m(t, options());
  m.access(0, 0, 0, 80);
  m.access(0, 0, 2, 60);
  m.access(0, 0, 3, 60);
  auto moves = m.interval();
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(moves[0].to, 2);
}

TEST(MigrationPolicy, SendsPagesOfAMemorylessNodeToItsNeighbour) {
  Topology t = fake_topology(3);
  t.node[1].memory_bytes = t.node[1].free_bytes = 0;
  t.latency_ns[1][2] = 120;
  FakeMachine m(t, options());
  m.access(0, 0, 1, 100);
  auto moves = m.interval();
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(moves[0].to, 2);
}

TEST(MigrationPolicy, LeavesRoomOnTheTarget) {
  PolicyOptions o = options();
  o.reserve_bytes = 10 * kBasePageBytes;
  FakeMachine m(fake_topology(2), o);
  for (unsigned p = 0; p < 5; p++)
    m.access(0, p, 1, 50 + p);
  m.policy.set_free_bytes(1, 12 * kBasePageBytes);
  auto moves = m.interval();
  ASSERT_EQ(moves.size(), 2u); // the two best
  EXPECT_EQ(moves[0].page, 4);
  EXPECT_EQ(moves[1].page, 3);
  EXPECT_EQ(m.policy.counters().target_full, 3u);
}

TEST(MigrationPolicy, SurvivesAPlanThatIsTooShort) {
  FakeMachine m(fake_topology(2), options());
  for (unsigned p = 0; p < 10; p++)
    m.access(0, p, 1, 50);
  EXPECT_EQ(m.policy.plan(m.unit.data(), 1, m.out.data(), 4), 4u);
  EXPECT_EQ(m.policy.counters().plan_full, 1u);
}

// One node's threads use pages that all others use a little less. Locality would move all to node
// 1; bandwidth forbids it.
TEST(MigrationPolicy, GuardsTheBalanceBeforeLocality) {
  PolicyOptions o = options();
  o.imbalance_limit = 1.5;
  auto spread = [&](const PolicyOptions &opt) {
    auto m = std::make_unique<FakeMachine>(fake_topology(4), opt);
    for (unsigned p = 0; p < 400; p++) {
      MigrationPolicy::placed(*m->unit[0], p, static_cast<uint8_t>(p % 4));
      m->access(0, p, 1, 40);
      m->access(0, p, static_cast<uint8_t>(p % 4), 10);
    }
    m->interval();
    unsigned on_one = 0;
    for (unsigned p = 0; p < 400; p++)
      on_one += m->unit[0]->page[p].home() == 1;
    return std::pair(on_one, m->policy.counters().unbalanced);
  };
  EXPECT_EQ(spread(options()).first, 400u);
  auto [on_one, refused] = spread(o);
  EXPECT_LE(on_one, 151u); // 1.5 x the mean load
  EXPECT_GE(on_one, 140u);
  EXPECT_GT(refused, 0u);
}

// Only one of four nodes is at work: no other node needs the bandwidth, so all pages go there.
TEST(MigrationPolicy, LetsAllGoToTheOnlyNodeAtWork) {
  PolicyOptions o = options();
  o.imbalance_limit = 2;
  FakeMachine m(fake_topology(4), o);
  for (unsigned p = 0; p < 400; p++) {
    m.access(0, p, 3, 40);
    if (p < 3) // left from the start
      m.access(0, p, 0, 10);
  }
  m.interval();
  unsigned there = 0;
  for (unsigned p = 0; p < 400; p++)
    there += m.unit[0]->page[p].home() == 3;
  EXPECT_EQ(there, 400u);
  EXPECT_EQ(m.policy.counters().unbalanced, 0u);
}

// A page that changes its user as soon as it has moved: the promise never comes true, so trust
// falls and the moves end. Paper mode moves for ever.
TEST(MigrationPolicy, LosesTrustInPagesThatWander) {
  auto moves_of_late = [](PolicyOptions o) {
    o.freeze_intervals = 0;
    FakeMachine m(fake_topology(2), o);
    size_t late = 0;
    for (unsigned i = 0; i < 40; i++) {
      for (unsigned p = 0; p < 64; p++)
        m.access(0, p, i % 2 ? 0 : 1, 8);
      size_t n = m.interval().size();
      late += i >= 20 ? n : 0;
    }
    return late;
  };
  PolicyOptions paper = PolicyOptions::paper(), ours = options();
  ours.keep256 = 0;
  EXPECT_EQ(moves_of_late(paper), 20u * 64);
  EXPECT_LT(moves_of_late(ours), 2u * 64);
}

// The same with superpages, which move whole: their promises count as those of pages do.
TEST(MigrationPolicy, LosesTrustInSuperpagesThatWander) {
  auto moves_of_late = [](PolicyOptions o, bool wander) {
    o.freeze_intervals = 0;
    FakeMachine m(fake_topology(2), o, 8);
    for (Unit *u : m.unit)
      u->granularity = Granularity::kSuperpage;
    size_t late = 0;
    for (unsigned i = 0; i < 40; i++) {
      for (unsigned u = 0; u < 8; u++)
        for (unsigned p = 0; p < kPagesPerUnit; p += 8)
          m.access(u, p, wander && i % 2 ? 0 : 1, 8);
      const size_t n = m.interval().size();
      late += i >= 20 ? n : 0;
    }
    if (!wander) {
      EXPECT_EQ(m.policy.counters().moved_units, 8u);
      EXPECT_GT(m.policy.trust(), 0.95);
    }
    return late;
  };
  PolicyOptions paper = PolicyOptions::paper(), ours = options();
  ours.keep256 = 0;
  ours.sample_period = 10000;
  EXPECT_EQ(moves_of_late(paper, true), 20u * 8);
  EXPECT_LT(moves_of_late(ours, true), 2u * 8);
  EXPECT_EQ(moves_of_late(ours, false), 0u);
}

// No node used a moved superpage for a while: that proves nothing, and the trial uses later
// accesses.
TEST(MigrationPolicy, WaitsForTheUsersOfAMovedSuperpage) {
  PolicyOptions o = options();
  o.sample_period = 10000;
  FakeMachine m(fake_topology(2), o, 8);
  for (Unit *u : m.unit)
    u->granularity = Granularity::kSuperpage;
  const auto use = [&](uint8_t node) {
    for (unsigned u = 0; u < 8; u++)
      for (unsigned p = 0; p < kPagesPerUnit; p += 8)
        m.access(u, p, node, 3);
  };
  use(1);
  ASSERT_EQ(m.interval().size(), 8u);
  m.interval(); // no accesses
  EXPECT_EQ(m.policy.trust(), 1);
  use(0);
  m.interval();
  EXPECT_LT(m.policy.trust(), 0.1);
}

TEST(MigrationPolicy, KeepsItsTrustInMovesThatHelp) {
  FakeMachine m(fake_topology(2), options());
  for (unsigned i = 0; i < 10; i++) {
    for (unsigned p = 0; p < 256; p++)
      m.access(0, p, 1, 8);
    m.interval();
  }
  EXPECT_EQ(m.policy.counters().moved_pages, 256u);
  EXPECT_GT(m.policy.trust(), 0.95);
}

// Two threads use one page alike, such as a page of shared flags: chance alone must not move it to
// and fro.
TEST(MigrationPolicy, LeavesAPageThatTwoNodesUseAlike) {
  FakeMachine m(fake_topology(2), options());
  std::mt19937 random(11);
  size_t moves = 0;
  for (unsigned i = 0; i < 100; i++) {
    for (unsigned k = 0; k < 200; k++)
      m.access(0, 7, static_cast<uint8_t>(random() % 2), 1);
    moves += m.interval().size();
  }
  EXPECT_LE(moves, 5u);
}

// One hot page changes its user for ever, and the promises of all others come true. The others must
// go on moving.
TEST(MigrationPolicy, OneWanderingPageDoesNotStopTheOthers) {
  PolicyOptions o = options();
  o.sample_period = 10000;
  FakeMachine m(fake_topology(2), o);
  double least = 1;
  for (unsigned i = 0; i < 60; i++) {
    m.access(0, 0, i / 4 % 2 ? 0 : 1, 200);
    for (unsigned p = 1; p <= i * 8 && p < kPagesPerUnit; p++) // more and more pages that node 1
                                                               // uses
      m.access(0, p, 1, 2);
    m.interval();
    least = std::min(least, m.policy.trust());
  }
  EXPECT_GT(least, 0.4);
  for (unsigned p = 1; p < 400; p++)
    ASSERT_EQ(m.unit[0]->page[p].home(), 1) << p;
}

// The first pages to move are hot ones that nodes use in turn, and their moves bring nothing. They
// have a small part of all accesses. Pages that have a new user for good must still move, though
// each saves little.
TEST(MigrationPolicy, FewWanderingPagesAtFirstDoNotStopTheOthers) {
  PolicyOptions o = options();
  o.sample_period = 10;
  FakeMachine m(fake_topology(2), o);
  for (unsigned i = 0; i < 30; i++) {
    for (unsigned p = 0; p < 6; p++)
      m.access(0, p, i % 2 ? 0 : 1, 40);
    for (unsigned p = 100; p < 400; p++)
      m.access(0, p, 0, 200);
    if (i >= 4)
      for (unsigned p = 400; p < kPagesPerUnit; p++)
        m.access(0, p, 1, 4);
    m.interval();
  }
  unsigned moved = 0;
  for (unsigned p = 400; p < kPagesPerUnit; p++)
    moved += m.unit[0]->page[p].home() == 1;
  EXPECT_EQ(moved, kPagesPerUnit - 400);
}

TEST(MigrationPolicy, ForgetsUnitsThatAreGone) {
  FakeMachine m(fake_topology(2), options(), 2);
  for (unsigned p = 0; p < 64; p++)
    m.access(1, p, 1, 50);
  ASSERT_EQ(m.interval().size(), 64u);
  m.policy.forget(*m.unit[1]);
  m.owned.pop_back(); // freed: the sanitizer's build would detect a use
  m.unit.pop_back();
  EXPECT_TRUE(m.interval().empty());
}

TEST(MigrationPolicy, NeighboursSpeakForPagesThatWereNotSampled) {
  PolicyOptions o;
  o.neighbours = true;
  o.imbalance_limit = 0;
  for (const unsigned local : {0u, 10u}) { // of 30 samples: one user, or no clear user
    FakeMachine m(fake_topology(2), o);
    MigrationPolicy::placed(*m.unit[0], 500, kNoNode); // never touched
    MigrationPolicy::placed(*m.unit[0], 501, 1);       // there already
    for (unsigned i = 0; i < 30; i++)
      m.access(0, i, i < local ? 0 : 1, 1);
    const std::vector<Move> moves = m.interval();
    EXPECT_EQ(moves.size(), local ? 0u : kPagesPerUnit - 2);
    for (const Move &move : moves)
      EXPECT_EQ(move.to, 1);
  }
  o.neighbours = false;
  FakeMachine m(fake_topology(2), o);
  for (unsigned i = 0; i < 30; i++)
    m.access(0, i, 1, 1);
  EXPECT_TRUE(m.interval().empty());
}
// A former superpage has two users: a page goes with the pages around it, not with the whole.
TEST(MigrationPolicy, TheNextNeighboursSpeakFirst) {
  PolicyOptions o;
  o.neighbours = true;
  o.imbalance_limit = 0;
  FakeMachine m(fake_topology(2), o);
  for (unsigned p = 0; p < kPagesPerUnit; p += 8)
    m.access(0, p, p < kPagesPerUnit / 2 ? 0 : 1, 1);
  EXPECT_EQ(m.interval().size(), kPagesPerUnit / 2);
  for (unsigned p = 0; p < kPagesPerUnit; p++)
    ASSERT_EQ(m.unit[0]->page[p].home(), p < kPagesPerUnit / 2 ? 0 : 1) << p;
}
TEST(MigrationPolicy, AFewSamplesAreNoNeighbourhood) {
  PolicyOptions o;
  o.neighbours = true;
  FakeMachine m(fake_topology(2), o);
  for (unsigned i = 0; i < 15; i++)
    m.access(0, i, 1, 1);
  EXPECT_TRUE(m.interval().empty());
}

} // namespace smalloc::numa
