// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests clusters_of() on traces whose clusters are known.
#include "runtime/benefit/clusters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace smalloc::benefit;

namespace {

using Clusters = std::vector<size_t>;

TEST(Clusters, AffinityByHand) {
  Affinity a(3);
  // Windows: (4, 1, 0), (0, 4, 9), (5, 4, 0).
  a.access(0, 4);
  a.access(1, 1);
  a.end_window();
  a.access(1, 3);
  a.access(2, 9);
  a.access(1, 1);
  a.end_window();
  a.access(0, 5);
  a.access(1, 4);
  a.end_window();
  EXPECT_EQ(a.accesses(0), 9);
  EXPECT_EQ(a.accesses(1), 9);
  EXPECT_DOUBLE_EQ(a.of(0, 1), (std::sqrt(4.0 * 1) + std::sqrt(5.0 * 4)) / 9);
  EXPECT_DOUBLE_EQ(a.of(1, 2), std::sqrt(4.0 * 9) / 9);
  EXPECT_EQ(a.of(0, 2), 0);
  EXPECT_EQ(a.of(2, 2), 1);
}

// Returns the affinity after phases of 50 windows each. A phase lists its members and how often
// each is accessed.
Affinity phases(size_t members, const std::vector<std::vector<std::pair<size_t, double>>> &list,
                unsigned seed = 1) {
  Affinity a(members);
  std::mt19937_64 random(seed);
  for (const auto &phase : list)
    for (int window = 0; window < 50; window++) {
      for (const auto &[member, accesses] : phase)
        a.access(member, accesses * (0.8 + 0.4 * static_cast<double>(random() % 1000) / 1000));
      a.end_window();
    }
  return a;
}

TEST(Clusters, PhasesTellSitesApart) {
  // 0, 2 and 4 in one phase, 1 and 3 in another, 5 in both.
  const Affinity a =
      phases(6, {{{0, 90}, {2, 100}, {4, 110}, {5, 60}}, {{1, 80}, {3, 100}, {5, 60}}});
  const Clusters found = clusters_of(a, std::vector<double>(6, 1e6), std::vector<int>(6));
  EXPECT_EQ(found[0], found[2]);
  EXPECT_EQ(found[0], found[4]);
  EXPECT_EQ(found[1], found[3]);
  EXPECT_NE(found[0], found[1]);
  EXPECT_EQ(found[0], 0u); // in the order of first members
}

TEST(Clusters, HotBesideCold) {
  // All are in the same loop. 0 and 3 are accessed a hundred times as often as 1 and 2. 4 is
  // accessed as often as 0, but has a hundred times the memory.
  const Affinity a = phases(5, {{{0, 1000}, {1, 10}, {2, 11}, {3, 900}, {4, 1000}}});
  const Clusters found = clusters_of(a, {1e6, 1e6, 1e6, 1e6, 1e8}, std::vector<int>(5));
  EXPECT_EQ(found, (Clusters{0, 1, 1, 0, 1}));
}

TEST(Clusters, NumberComesFromTheData) {
  const std::vector<double> bytes(4, 4096);
  const std::vector<int> one(4);
  // All equal: one cluster. Never together: four.
  EXPECT_EQ(clusters_of(phases(4, {{{0, 10}, {1, 10}, {2, 10}, {3, 10}}}), bytes, one),
            (Clusters{0, 0, 0, 0}));
  EXPECT_EQ(clusters_of(phases(4, {{{0, 10}}, {{1, 10}}, {{2, 10}}, {{3, 10}}}), bytes, one),
            (Clusters{0, 1, 2, 3}));
  EXPECT_EQ(clusters_of(phases(4, {{{0, 10}, {3, 10}}, {{1, 10}}, {{2, 10}}}), bytes, one),
            (Clusters{0, 1, 2, 0}));
}

TEST(Clusters, GroupsStayApart) {
  const Affinity a = phases(4, {{{0, 10}, {1, 10}, {2, 10}, {3, 10}}});
  EXPECT_EQ(clusters_of(a, std::vector<double>(4, 4096), {0, 1, 1, 0}), (Clusters{0, 1, 1, 0}));
}

TEST(Clusters, NoiseChangesNothingAndNeitherDoesSilence) {
  for (unsigned seed = 1; seed <= 50; seed++) {
    const Affinity a = phases(7, {{{0, 50}, {1, 40}, {2, 60}}, {{3, 50}, {4, 55}, {5, 45}}}, seed);
    const Clusters found = clusters_of(a, std::vector<double>(7, 1e6), std::vector<int>(7));
    EXPECT_EQ(found, (Clusters{0, 0, 0, 1, 1, 1, 2})) << seed; // 6 is never accessed
  }
  EXPECT_TRUE(clusters_of(Affinity(0), {}, {}).empty());
  EXPECT_EQ(clusters_of(Affinity(1), {1}, {0}), Clusters{0});
}

} // namespace
