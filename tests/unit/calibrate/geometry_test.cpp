// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// geometry_test.cpp tests that the calibrator finds the TLB of simulated machines of any geometry,
// and reports what it cannot find.
#include "runtime/measure/geometry.h"

#include "simulated_tlb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smalloc::calibrate {
namespace {

constexpr uint64_t kSuper = 2 << 20;

GeometryPlan small_plan() {
  GeometryPlan plan;
  plan.superpage_bytes = {kSuper};
  plan.max_pages = 6144;
  plan.walk_pages = {8192, 16384};
  return plan;
}

const LevelEstimate *level(const Geometry &g, unsigned number, uint64_t page_bytes) {
  for (const LevelEstimate &l : g.levels)
    if (l.level == number && l.page_bytes == page_bytes)
      return &l;
  return nullptr;
}

double entries(const Geometry &g, unsigned number, uint64_t page_bytes) {
  const LevelEstimate *l = level(g, number, page_bytes);
  return l ? l->entries.value : 0;
}

Geometry measure(const SimulatedMachine &machine, unsigned seed = 1,
                 GeometryPlan plan = small_plan()) {
  SimulatedTlb source(machine, seed);
  return measure_geometry(source, plan);
}

TEST(Geometry, FindsBothLevelsOfAnIntelLikeCore) {
  const Geometry g = measure({});
  EXPECT_EQ(entries(g, 1, 4096), 64);
  EXPECT_NEAR(entries(g, 2, 4096), 1536, 8);
  EXPECT_EQ(entries(g, 1, kSuper), 32);
  ASSERT_TRUE(g.second_level_hit_cycles);
  EXPECT_NEAR(g.second_level_hit_cycles->value, 7, 0.2);
  ASSERT_TRUE(level(g, 1, 4096)->ways);
  EXPECT_EQ(*level(g, 1, 4096)->ways, 4u);
  EXPECT_EQ(g.backing_page_bytes, kSuper);
  EXPECT_FALSE(level(g, 1, 4096)->shared);
  EXPECT_FALSE(g.noisy);
}

TEST(Geometry, FindsASharedFullyAssociativeLevel) {
  SimulatedMachine zen;
  zen.l1_base = zen.l1_super = {72, 0};
  zen.l1_shared = true;
  zen.l2 = {{3072, 12}};
  const Geometry g = measure(zen);
  EXPECT_EQ(entries(g, 1, 4096), 72);
  EXPECT_EQ(level(g, 1, 4096)->ways, 0u);
  EXPECT_EQ(entries(g, 1, kSuper), 72);
  EXPECT_TRUE(level(g, 1, 4096)->shared);
  EXPECT_TRUE(level(g, 1, kSuper)->shared);
  zen.l1_shared = false; // two arrays of the same size are not shared
  EXPECT_FALSE(level(measure(zen), 1, 4096)->shared);
}

TEST(Geometry, SaysWhatASmallBackingHides) {
  SimulatedMachine guest;
  guest.l1_base = guest.l1_super = {72, 0};
  guest.l1_shared = true;
  guest.l2 = {{2048, 8}};
  guest.host_page_bytes = 4096;
  const Geometry g = measure(guest);
  EXPECT_EQ(g.backing_page_bytes, 4096u);
  EXPECT_EQ(entries(g, 1, kSuper), 72);
  EXPECT_EQ(entries(g, 2, kSuper), 0);
  EXPECT_THAT(g.unknown, testing::Contains("TLB level 2, 2 MiB: unknown (backing 4 KiB)"));
  guest.host_page_bytes = 65536;
  EXPECT_EQ(measure(guest).backing_page_bytes, 65536u);
}

TEST(Geometry, FindsOneLevelWhereThereIsOne) {
  SimulatedMachine core2;
  core2.l1_base = {256, 4};
  core2.l2.reset();
  core2.walk_near = 19;
  const Geometry g = measure(core2);
  EXPECT_NEAR(entries(g, 1, 4096), 256, 2);
  EXPECT_EQ(level(g, 1, 4096)->ways, 4u);
  EXPECT_EQ(level(g, 2, 4096), nullptr);
  EXPECT_FALSE(g.second_level_hit_cycles);
}

// A dozen machines of random geometry; the method sees only their latencies. A simulated
// measurement takes twenty seconds under a sanitizer, for which a few machines are enough.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr unsigned kGeometries = 2, kWithArtefacts = 2;
#else
constexpr unsigned kGeometries = 12, kWithArtefacts = 8;
#endif

TEST(Geometry, FindsRandomGeometries) {
  std::mt19937_64 random(12);
  const auto one_of = [&](auto... v) {
    const std::vector<uint64_t> list{static_cast<uint64_t>(v)...};
    return list[random() % list.size()];
  };
  for (unsigned i = 0; i < kGeometries; i++) {
    SimulatedMachine m;
    m.l1_base.ways = static_cast<unsigned>(one_of(0, 4, 6, 8));
    m.l1_base.entries =
        m.l1_base.ways ? m.l1_base.ways * one_of(8, 16, 32) : one_of(16, 40, 48, 96, 224);
    m.l1_super = {one_of(16, 32, 64), 4};
    m.l2 = {{0, static_cast<unsigned>(one_of(4, 8, 12))}};
    m.l2->entries = m.l2->ways * one_of(128, 256);
    m.l2_penalty = static_cast<double>(one_of(3, 5, 7, 12));
    m.walk_near = static_cast<double>(one_of(20, 35, 60));
    m.noise = 0.01;
    const Geometry g = measure(m, i);
    SCOPED_TRACE(testing::Message()
                 << "machine " << i << ": L1 " << m.l1_base.entries << "/" << m.l1_base.ways
                 << ", L2 " << m.l2->entries << "/" << m.l2->ways << ", penalty " << m.l2_penalty);
    EXPECT_NEAR(entries(g, 1, 4096), static_cast<double>(m.l1_base.entries), 2);
    ASSERT_TRUE(level(g, 1, 4096));
    EXPECT_EQ(level(g, 1, 4096)->ways, m.l1_base.ways);
    EXPECT_NEAR(entries(g, 1, kSuper), static_cast<double>(m.l1_super.entries), 2);
    EXPECT_NEAR(entries(g, 2, 4096), static_cast<double>(m.l2->entries),
                0.02 * static_cast<double>(m.l2->entries));
    ASSERT_TRUE(g.second_level_hit_cycles);
    EXPECT_NEAR(g.second_level_hit_cycles->value, m.l2_penalty, 0.1 * m.l2_penalty + 0.1);
  }
}

// Random geometries with all artefacts: levels shared by page sizes, a hypervisor's small pages,
// disturbed and prefetched chases.
TEST(Geometry, FindsRandomGeometriesUnderArtefacts) {
  std::mt19937_64 random(99);
  const auto one_of = [&](auto... v) {
    const std::vector<uint64_t> list{static_cast<uint64_t>(v)...};
    return list[random() % list.size()];
  };
  for (unsigned i = 0; i < kWithArtefacts; i++) {
    SimulatedMachine m;
    m.l1_shared = i % 2;
    m.l1_base = {one_of(40, 48, 64, 72, 96), 0};
    m.l1_super = m.l1_shared ? m.l1_base : SimulatedLevel{one_of(16, 32), 0};
    m.l2 = {{0, static_cast<unsigned>(one_of(4, 8))}};
    m.l2->entries = m.l2->ways * one_of(128, 256);
    m.l2_penalty = static_cast<double>(one_of(5, 7, 9));
    m.walk_near = static_cast<double>(one_of(25, 40));
    m.host_page_bytes = i % 4 < 2 ? uint64_t{1} << 40 : one_of(4096, 65536);
    m.noise = 0.005;
    m.outliers = 0.02;
    m.prefetch = 0.01;
    GeometryPlan plan = small_plan();
    plan.rounds = 5;
    const Geometry g = measure(m, i, plan);
    SCOPED_TRACE(testing::Message() << "machine " << i << ": L1 " << m.l1_base.entries
                                    << ", shared " << m.l1_shared << ", L2 " << m.l2->entries << "/"
                                    << m.l2->ways << ", host " << m.host_page_bytes);
    EXPECT_NEAR(entries(g, 1, 4096), static_cast<double>(m.l1_base.entries), 2);
    EXPECT_NEAR(entries(g, 2, 4096), static_cast<double>(m.l2->entries),
                0.02 * static_cast<double>(m.l2->entries));
    EXPECT_NEAR(entries(g, 1, kSuper), static_cast<double>(m.l1_super.entries), 2);
    if (level(g, 1, kSuper)) {
      EXPECT_EQ(level(g, 1, kSuper)->shared, m.l1_shared);
    }
    EXPECT_EQ(g.backing_page_bytes, std::min(m.host_page_bytes, kSuper));
    if (m.host_page_bytes < kSuper) {
      EXPECT_EQ(level(g, 2, kSuper), nullptr); // hidden, and reported as such
      EXPECT_THAT(g.unknown, testing::Contains(testing::HasSubstr("2 MiB: unknown (backing")));
    }
  }
}

TEST(Geometry, LooksAtFurtherPageSizes) {
  SimulatedMachine m;
  m.l1_super = {16, 4};
  GeometryPlan plan = small_plan();
  plan.other_bytes = {65536, uint64_t{1} << 30};
  Geometry g = measure(m, 1, plan);
  EXPECT_EQ(entries(g, 1, 65536), 16);
  EXPECT_EQ(entries(g, 1, uint64_t{1} << 30), 16);
  EXPECT_EQ(g.backing_page_bytes, kSuper); // measured only with transparent superpages
  // Few machines have many pages of 1 GiB; a dozen show a level of 4.
  m.l1_super = {4, 4};
  m.superpages = 12;
  plan.superpage_bytes = {};
  plan.other_bytes = {uint64_t{1} << 30};
  g = measure(m, 1, plan);
  EXPECT_EQ(entries(g, 1, uint64_t{1} << 30), 4);
  m.superpages = 3;
  EXPECT_THAT(measure(m, 1, plan).unknown,
              testing::Contains("TLB, 1 GiB: unknown (no such pages available)"));
  m.l1_super = {64, 0};
  m.superpages = 12;
  EXPECT_THAT(measure(m, 1, plan).unknown,
              testing::Contains("TLB level 1, 1 GiB: unknown (memory for 12 pages only)"));
}

TEST(Geometry, FiveRunsAgreeUnderOutliersAndPrefetch) {
  SimulatedMachine m;
  m.noise = 0.01;
  m.outliers = 0.03;
  m.prefetch = 0.02;
  for (unsigned seed = 0; seed < 5; seed++) {
    const Geometry g = measure(m, seed);
    EXPECT_NEAR(entries(g, 1, 4096), 64, 2) << seed;
    EXPECT_NEAR(entries(g, 2, 4096), 1536, 0.02 * 1536) << seed;
    ASSERT_TRUE(g.second_level_hit_cycles) << seed;
    EXPECT_NEAR(g.second_level_hit_cycles->value, 7, 0.7) << seed;
  }
}

TEST(Geometry, SaysNoisyRatherThanGuess) {
  SimulatedMachine m;
  m.noise = 0.6;
  unsigned wrong = 0, unsure = 0;
  for (unsigned seed = 0; seed < 5; seed++) {
    const Geometry g = measure(m, seed);
    const double found = entries(g, 2, 4096);
    wrong += found && std::fabs(found - 1536) > 0.15 * 1536;
    unsure += !g.unknown.empty() || g.noise_ratio > 1.1;
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(unsure, 5u);
}

// The rounds disagree about the entries of the second level, not about its existence.
TEST(Geometry, KeepsADoubtfulSecondLevelApart) {
  SimulatedMachine m;
  m.noise = 0.25;
  bool doubtful = false;
  for (unsigned seed = 0; seed < 12 && !doubtful; seed++) {
    const Geometry g = measure(m, seed);
    doubtful = g.doubtful_second_level.has_value();
    EXPECT_FALSE(doubtful && entries(g, 2, 4096)) << seed;
    if (doubtful) {
      EXPECT_NEAR(g.doubtful_second_level->value, 1536, 0.4 * 1536) << seed;
    }
  }
  EXPECT_TRUE(doubtful);
}

TEST(Geometry, MeasuresTheWalkAsACurve) {
  const Geometry g = measure({});
  ASSERT_EQ(g.walks.size(), 2u);
  // walk_near + 4 per doubling beyond 1024, and every lookup misses.
  EXPECT_EQ(g.walks[0].pages, 8192u);
  EXPECT_NEAR(g.walks[0].cycles.value, 25 + 3 * 4, 1.5);
  EXPECT_NEAR(g.walks[1].cycles.value, 25 + 4 * 4, 1.5);
}

TEST(Geometry, MeasuresWhatOverlappedWalksAdd) {
  const Geometry g = measure({});
  ASSERT_EQ(g.overlapped_walks.size(), 2u);
  EXPECT_EQ(g.overlapped_walks[0].pages, 8192u);
  EXPECT_NEAR(g.overlapped_walks[0].cycles.value, (25 + 3 * 4) / 4.0, 1.5);
  EXPECT_NEAR(g.overlapped_walks[1].cycles.value, (25 + 4 * 4) / 4.0, 1.5);
}

// The first point is within the reach of a level and costs nothing; the next points are not noise.
TEST(Geometry, OverlappedWalksMayBeginNearNothing) {
  SimulatedMachine m;
  m.walk_near = 45;
  GeometryPlan plan = small_plan();
  plan.rounds = 1;
  plan.walk_pages = {512, 8192, 16384};
  const Geometry g = measure(m, 1, plan);
  ASSERT_EQ(g.overlapped_walks.size(), 3u);
  EXPECT_LT(g.overlapped_walks[0].cycles.value, 3);
  EXPECT_NEAR(g.overlapped_walks[1].cycles.value, (45 + 3 * 4) / 4.0, 2);
}

// Page tables are in the caches during a chase of one line per page, but not beside a program's
// data.
TEST(Geometry, MeasuresWalksBesideData) {
  SimulatedMachine m;
  m.walk_beside_data = 40;
  m.data = 500;
  const Geometry g = measure(m);
  ASSERT_EQ(g.walks.size(), 2u);
  EXPECT_NEAR(g.walks[0].cycles.value, 25 + 3 * 4 + 40, 1.5);
  EXPECT_NEAR(g.walks[1].cycles.value, 25 + 4 * 4 + 40, 1.5);
  ASSERT_EQ(g.overlapped_walks.size(), 2u);
  EXPECT_NEAR(g.overlapped_walks[0].cycles.value, (25 + 3 * 4 + 40) / 4.0, 1.5);
  // If the data are near, so are their page tables.
  ASSERT_EQ(g.overlapped_near_walks.size(), 2u);
  EXPECT_NEAR(g.overlapped_near_walks[0].cycles.value, (25 + 3 * 4) / 4.0, 1.5);
  EXPECT_NEAR(g.overlapped_near_walks[1].cycles.value, (25 + 4 * 4) / 4.0, 1.5);
}

// On a small backing superpages miss as well, and save only the part by which their walk is
// shorter.
TEST(Geometry, MeasuresWhatSuperpagesSaveOfAWalk) {
  SimulatedMachine guest;
  guest.host_page_bytes = 4096;
  guest.superpage_walk = 0.25;
  const Geometry g = measure(guest);
  ASSERT_EQ(g.walks.size(), 2u);
  EXPECT_EQ(g.walks[0].page_bytes, 4096u);
  EXPECT_NEAR(g.walks[0].cycles.value, 0.75 * (25 + 3 * 4), 1.5);
  EXPECT_NEAR(g.walks[1].cycles.value, 0.75 * (25 + 4 * 4), 1.5);
}

TEST(Geometry, MeasuresWalksWithoutSuperpages) {
  SimulatedMachine m;
  m.superpages = 0;
  const Geometry g = measure(m);
  ASSERT_EQ(g.walks.size(), 2u);
  EXPECT_NEAR(g.walks[0].cycles.value, 25 + 3 * 4, 1.5);
  // Packed lines are always near.
  EXPECT_EQ(g.overlapped_walks.size(), 2u);
  EXPECT_EQ(g.overlapped_near_walks.size(), 0u);
}

TEST(Geometry, AgreesOnWalksWhateverMemoryARoundGot) {
  SimulatedMachine m;
  m.memory_luck = 20;
  m.busy_rounds = 0.2;
  for (unsigned seed = 0; seed < 5; seed++) {
    SimulatedTlb source(m, seed);
    GeometryPlan plan = small_plan();
    plan.rounds = 1;
    const Geometry g = measure_geometry(source, plan);
    ASSERT_EQ(g.walks.size(), 2u) << seed;
    // The middle of all memory, slightly higher because of the disturbed rounds.
    EXPECT_NEAR(g.walks[0].cycles.value, 25 + 3 * 4 + 10, 7) << seed;
    EXPECT_LE(g.walks[0].cycles.low, g.walks[0].cycles.value);
    EXPECT_LT(g.walks[0].cycles.high, 100);
  }
}

// Every other round gets adjacent frames: the cheapest half of the rounds represents no program's
// memory.
TEST(Geometry, WalksOnTwoKindsOfMemoryCostWhatLiesBetween) {
  SimulatedMachine m;
  m.scattered = 30;
  const Geometry g = measure(m);
  ASSERT_EQ(g.walks.size(), 2u);
  EXPECT_NEAR(g.walks[0].cycles.value, 25 + 3 * 4 + 15, 2);
  EXPECT_NEAR(g.walks[0].cycles.low, 25 + 3 * 4, 2);
  EXPECT_NEAR(g.walks[0].cycles.high, 25 + 3 * 4 + 30, 2);
}

// A median of few rounds is no better: three of five got adjacent frames.
TEST(Geometry, FewRoundsOnTwoKindsOfMemoryCostWhatLiesBetween) {
  SimulatedMachine m;
  m.scattered = 30;
  GeometryPlan plan = small_plan();
  plan.rounds = 1;
  plan.walk_rounds = 5;
  const Geometry g = measure(m, 1, plan);
  ASSERT_EQ(g.walks.size(), 2u);
  EXPECT_NEAR(g.walks[0].cycles.value, 25 + 3 * 4 + 15, 7);
  EXPECT_GT(g.walks[0].cycles.high, g.walks[0].cycles.low + 25);
}

// Too many rounds were disturbed to find the undisturbed ones, with twelve rounds or with three.
TEST(Geometry, SaysNoisyWhenRoundsOfWalksDisagree) {
  SimulatedMachine m;
  m.scattered = 600;
  for (const unsigned rounds : {12u, 3u}) {
    GeometryPlan plan = small_plan();
    plan.rounds = 1;
    plan.walk_rounds = rounds;
    m.superpages = rounds == 12 ? 400 : 0;
    const Geometry g = measure(m, 1, plan);
    EXPECT_TRUE(g.walks.empty()) << rounds;
    EXPECT_TRUE(g.noisy) << rounds;
  }
}

TEST(Geometry, MakesFewerRoundsOfWalksInAHurry) {
  SimulatedTlb patient({}, 1), hurried({}, 1);
  GeometryPlan plan = small_plan();
  plan.rounds = 1;
  measure_geometry(patient, plan);
  plan.hurry = [] { return true; };
  const Geometry g = measure_geometry(hurried, plan);
  EXPECT_EQ(g.walks.size(), 2u);
  EXPECT_EQ(patient.refreshes, static_cast<int>(plan.walk_rounds));
  EXPECT_EQ(hurried.refreshes, static_cast<int>(plan.least_walk_rounds));
}

// Both page sizes and both curves have the same counts in the rounds that measure them.
TEST(Geometry, FarPagesAreChasedInTheFirstRoundsOnly) {
  GeometryPlan near = small_plan(), far = small_plan();
  near.walk_pages = {8192};
  far.far_pages = 8192;
  SimulatedTlb few({}, 1), more({}, 1);
  measure_geometry(few, near);
  const Geometry g = measure_geometry(more, far);
  EXPECT_EQ(more.chases - few.chases, static_cast<int>(6 * far.far_rounds));
  EXPECT_EQ(more.refreshes, few.refreshes);
  ASSERT_EQ(g.walks.size(), 2u);
  EXPECT_EQ(g.walks[1].pages, 16384u);
  EXPECT_NEAR(g.walks[1].cycles.value, 25 + 4 * 4, 1.5);
}

TEST(Geometry, SaysNoisyWhenOthersUseTheCaches) {
  SimulatedMachine m;
  m.contention = 500;
  m.superpages = 0; // against superpages it would cancel out
  const Geometry g = measure(m);
  ASSERT_EQ(g.walks.size(), 1u);
  EXPECT_EQ(g.walks[0].pages, 8192u);
  EXPECT_TRUE(g.noisy);
  EXPECT_THAT(g.unknown,
              testing::Contains(testing::HasSubstr("walk, 4 KiB, 16384 lines: unknown")));
}

// All rounds agree that a walk costs nothing, but no walk is that cheap.
TEST(Geometry, WalksThatAreWaitedForCostNoLessThanOverlappedOnes) {
  SimulatedMachine m;
  m.others_on_superpages = 100;
  GeometryPlan plan = small_plan();
  plan.rounds = 1;
  const Geometry g = measure(m, 1, plan);
  EXPECT_EQ(g.overlapped_walks.size(), 2u);
  EXPECT_TRUE(g.walks.empty());
  EXPECT_TRUE(g.noisy);
  EXPECT_THAT(g.unknown,
              testing::Contains(
                  "walk, 4 KiB, 8192 lines: unknown (noisy: 0 cycles, and 9 where walks overlap)"));
}

TEST(Geometry, SaysThatSuperpagesAreNotToBeHad) {
  SimulatedMachine m;
  m.superpages = 0;
  const Geometry g = measure(m);
  EXPECT_EQ(entries(g, 1, 4096), 64);
  EXPECT_THAT(g.unknown, testing::Contains(testing::HasSubstr("2 MiB: unknown (no such pages")));
}

} // namespace
} // namespace smalloc::calibrate
