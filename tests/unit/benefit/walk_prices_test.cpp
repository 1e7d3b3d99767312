// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the prices of walks: of one that is waited for, of one among several, of a page's end
// beside others.
#include "runtime/benefit/evaluation.h"

#include "tests/unit/benefit/machine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

using namespace smalloc;
using namespace smalloc::benefit;

namespace {

using enum PageSize;

// Two categories of 128 pages, read in turn: each access misses on base pages, and costs what its
// category's walks cost. Exact, and with a list without sets.
TEST(Evaluation, WalksThatOverlapCostLess) {
  auto profile = machine();
  profile.overlapped_walk_cost = {{4096, {}, {3.0, {}, {}, "measured"}}};
  for (const unsigned ways : {0u, 4u}) {
    profile.tlb[0].ways.value = ways;
    const CostModel costs(profile);
    Evaluation e(costs, {{kBase, kBase}, {kBase, kSuper}, {kSuper, kBase}}, {}, 2,
                 {.overlaps = {true, false}});
    for (int round = 0; round < 100; round++)
      for (uint64_t page = 0; page < 128; page++)
        for (uint32_t category = 0; category < 2; category++)
          e.access(0x10000000 + (page * 2 + category) * 4096, {category, page * 4096}, 0);
    e.finish();
    EXPECT_EQ(e.counts(0).cycles, 12800 * (10 + 3) + 256 * 100);
    EXPECT_NEAR(e.saving(0, 1).cycles, 12800 * 10 + 128 * 100 - 1010, 12);
    EXPECT_NEAR(e.saving(0, 2).cycles, 12800 * 3 + 128 * 100 - 1003, 12);
  }
}

format::MachineProfile machine_of_crossings() {
  auto profile = machine();
  profile.overlapped_walk_cost = {{4096, {}, {3.0, {}, {}, "measured"}}};
  profile.bandwidth_bytes_per_second = {{4096, {8e9, {}, {}, "measured"}},
                                        {2 << 20, {10e9, {}, {}, "measured"}}};
  return profile;
}

// Two streams of one category over 128 pages each, one of them backwards. The first page of each is
// an overlapped walk; the others are crossings of 102.4 cycles. Each stream waits for half of
// these, since they go on side by side. The first two crossings cost all, as the other stream is
// not known yet. Accesses that jump about, or wait for the access before, are no stream.
TEST(Evaluation, StreamsPayForCrossings) {
  const CostModel costs(machine_of_crossings());
  const auto cycles = [&](bool overlaps, uint64_t stride, uint64_t apart) {
    Evaluation e(costs, {{kBase}}, {}, 1, {.overlaps = {overlaps}});
    for (int round = 0; round < 10; round++)
      for (uint64_t page = 0; page < 128; page++) {
        const uint64_t to = page * stride % 128;
        for (const uint64_t at : {0x10000 + to, 0x20000 - to})
          for (uint64_t byte = 0; byte < 4096; byte += apart)
            e.access((at << 12) + byte, {0, ((at & 0x1ff) << 12) + byte}, 0);
      }
    e.finish();
    EXPECT_EQ(e.counts(0).tlb_misses, 2560);
    return e.counts(0).cycles - 256 * 100;
  };
  EXPECT_NEAR(cycles(true, 1, 512), 20 * 3 + 2 * 102.4 + 2538 * 51.2, 0.1);
  EXPECT_EQ(cycles(true, 1, 1024), 2560 * 3); // too few accesses a page for a stream
  EXPECT_EQ(cycles(true, 37, 512), 2560 * 3);
  EXPECT_EQ(cycles(false, 1, 512), 2560 * 10);
}

// A loop over as many arrays as it has categories, in the reader's form: each page once, with the
// accesses that follow (trace/walk.h). In the first page after another the number of streams is not
// known yet.
TEST(Evaluation, ArraysSideBySideShareTheirCrossings) {
  const CostModel costs(machine_of_crossings());
  const auto cycles = [&](uint32_t arrays, uint64_t repeats) {
    Evaluation e(costs, {{kBase}}, {}, 1, {.overlaps = std::vector<bool>(arrays, true)});
    for (uint64_t page = 0; page < 1000; page++)
      for (uint32_t array = 0; array < arrays; array++) {
        const uint64_t at = ((uint64_t{array} + 1) << 32) + (page << 12);
        e.access(at, {array, page << 12}, repeats);
      }
    e.finish();
    return (e.counts(0).cycles - arrays * 1000 * 100.0) / arrays;
  };
  for (uint32_t arrays : {1u, 2u, 3u, 8u})
    EXPECT_NEAR(cycles(arrays, 511), 3 + 102.4 + 998 * 102.4 / arrays, 0.1) << arrays;
  EXPECT_EQ(cycles(3, 6), 3000); // no stream
}

// Two threads over an array each: on one core they take turns, on two each waits for its own
// crossings.
TEST(Evaluation, StreamsOfSeveralCoresDoNotShare) {
  const CostModel costs(machine_of_crossings());
  const auto cycles = [&](uint32_t cores) {
    Evaluation e(costs, {{kBase}}, {}, 1, {.overlaps = {true}, .tlbs = cores});
    for (uint64_t page = 0; page < 1000; page++)
      for (uint32_t thread = 0; thread < 2; thread++)
        e.access(((uint64_t{thread} + 1) << 32) + (page << 12), {0, page << 12}, 511, true,
                 thread % cores);
    e.finish();
    return (e.counts(0).cycles - 2 * 1000 * 100.0) / 2;
  };
  EXPECT_NEAR(cycles(1), 3 + 102.4 + 998 * 51.2, 0.1);
  EXPECT_NEAR(cycles(2), 3 + 999 * 102.4, 0.1);
}

// Each access misses the TLB. The loop visits every 37th page. It uses the same line of a page each
// time, which the caches keep, or another one. The first touches of lines are far. A sample of
// regions gives the same; in a PMU's samples lines are unknown.
TEST(Evaluation, WalksBesideNearDataHaveAPriceOfTheirOwn) {
  auto profile = machine();
  profile.overlapped_walk_cost = {{4096, {}, {3.0, {}, {}, "measured"}}};
  const auto cycles = [&](uint64_t line, Sample sample = {}) {
    const CostModel costs(profile);
    Evaluation e(costs, {{kBase}}, sample, 1, {.overlaps = {true}});
    for (uint64_t round = 0; round < 60; round++)
      for (uint64_t page = 0; page < 3000; page++) {
        const uint64_t at = ((0x10000 + page * 37 % 3000) << 12) + round * line % 4096;
        e.access(at, {0, at & 0xffffff}, 0);
      }
    e.finish();
    return e.counts(0).cycles - 3000 / sample.rate * 100;
  };
  const double misses = 60 * 3000;
  EXPECT_EQ(cycles(0), misses * 3); // without a price
  profile.overlapped_near_walk_cost = {{4096, {}, {5.0, {}, {}, "measured"}}};
  EXPECT_EQ(cycles(0), misses * 5 - 3000 * 2);
  EXPECT_NEAR(cycles(64), misses * 3, misses * 0.02); // 180,000 lines, more than are near
  EXPECT_NEAR(cycles(0, {0.25, 1, false}), (misses * 5 - 3000 * 2) * 4, misses * 0.2);
  EXPECT_NEAR(cycles(0, {1, 10, false}), misses * 10 * 3, misses * 0.5);
}

// Columns of 1000 rows that are `apart` pages apart, with near data. A walk waits for lines of the
// page table, which share the caches with the rows' lines.
// 1 page apart: eight rows share a line, and the distance is 999 pages.
// 4 pages apart: two rows share one. The second finds what the first has fetched, and the first
// comes back after 500 lines.
// 8 pages apart and more: each row has a line of its own.
TEST(Evaluation, WalksNearDataArePricedByTableLines) {
  auto profile = machine();
  profile.overlapped_walk_cost = {{4096, {}, {3.0, {}, {}, "measured"}}};
  profile.overlapped_near_walk_cost = {{4096, 100, {10.0, {}, {}, "measured"}},
                                       {4096, 10000, {30.0, {}, {}, "measured"}}};
  const auto curve = [](double pages) { return 10 + 10 * std::log10(pages / 100); };
  const auto cycles = [&](uint64_t apart, double rate) {
    const CostModel costs(profile);
    Evaluation e(costs, {{kBase}}, {rate, 1, false}, 1, {.overlaps = {true}});
    for (int round = 0; round < 101; round++)
      for (uint64_t row = 0; row < 1000; row++)
        e.access((0x10000 + row * apart) << 12, {0, (row * apart) << 12}, 0);
    e.finish();
    return (e.counts(0).cycles * rate - 1000 * (100 + 3)) /
           100000; // without first touches, which are far
  };
  EXPECT_NEAR(cycles(4, 1), (curve(999) + curve((999 + 499) / 1.125)) / 2, 0.05);
  EXPECT_NEAR(cycles(9, 1), curve((999 + 999) / 1.125), 0.05);
  // Each access stands for two.
  EXPECT_NEAR(cycles(4, 0.5), (curve(2 * 999) + curve(2 * (999 + 499) / 1.125)) / 2, 0.05);
}

TEST(NearLines, AreTheLatest) {
  NearLines lines(1), many(1), few(1.0 / 64);
  uint64_t near = 0;
  for (int round = 0; round < 2; round++)
    for (uint64_t line = 0; line < 60000; line++)
      // the same line
      near += lines.has(line * 4096 + static_cast<uint64_t>(round) * 32);
  EXPECT_NEAR(static_cast<double>(near), 60000, 3000); // some sets have more than their share
  near = 0;
  for (int round = 0; round < 2; round++)
    for (uint64_t line = 0; line < NearLines::kLines * 4; line++)
      near += many.has(line * 4096);
  EXPECT_LT(near, NearLines::kLines / 100);
  near = 0;
  for (int round = 0; round < 2; round++)
    for (uint64_t line = 0; line < 8192; line++)
      near += few.has(line * 4096); // four times what a sample keeps
  EXPECT_LT(near, 300u);
}

// Arrays that go on in turn, from any place on. Using a page again before its stream goes on
// changes nothing.
TEST(StreamsAtOnce, AreThoseSinceAStreamWentOn) {
  StreamsAtOnce streams;
  const auto go_on = [&](uint64_t array, uint64_t page) {
    const size_t found = streams.go_on((array << 20) + page);
    EXPECT_EQ(streams.go_on((array << 20) + page), found);
    return found;
  };
  EXPECT_EQ(go_on(1, 10), 1u); // no other is known
  EXPECT_EQ(go_on(1, 11), 1u);
  EXPECT_EQ(go_on(2, 50), 1u);
  EXPECT_EQ(go_on(1, 12), 2u);
  EXPECT_EQ(go_on(2, 49), 2u); // backwards
  EXPECT_EQ(go_on(3, 70), 2u); // as the one before
  EXPECT_EQ(go_on(1, 13), 3u);
  EXPECT_EQ(go_on(1, 14), 1u); // the others have ended
  for (uint64_t other = 4; other < 4 + kMostStreams; other++)
    go_on(other, 0);
  EXPECT_EQ(go_on(4, 1), kMostStreams);
  EXPECT_EQ(go_on(1, 15), kMostStreams); // too long ago: as the one before
  EXPECT_EQ(go_on(1, 16), 1u);
}

TEST(Streams, AnOldStreamMakesRoom) {
  Streams streams;
  const auto walked = [&](uint64_t page) {
    const bool went_on = streams.goes_on(page);
    for (unsigned i = 1; i < Streams::kDense; i++)
      EXPECT_EQ(streams.goes_on(page), went_on); // stands for the same access
    return went_on;
  };
  EXPECT_FALSE(walked(1000));
  EXPECT_TRUE(walked(1001));
  for (uint64_t other = 1; other <= 7; other++)
    EXPECT_FALSE(streams.goes_on(other << 20));
  EXPECT_TRUE(walked(1002)); // the oldest of eight
  for (uint64_t other = 11; other <= 18; other++)
    EXPECT_FALSE(streams.goes_on(other << 20));
  EXPECT_FALSE(walked(1003));
}

TEST(Streams, PagesOfFewAccessesAreNone) {
  Streams streams;
  for (uint64_t page = 0; page < 20; page++)
    for (unsigned i = 1; i < Streams::kDense; i++)
      EXPECT_FALSE(streams.goes_on(page));
  // Rows in turn, one access to each at a time.
  bool went_on = false;
  for (uint64_t page = 0; page < 20; page++)
    for (unsigned i = 0; i < Streams::kDense; i++)
      for (const uint64_t row : {uint64_t{1} << 20, uint64_t{1} << 30})
        went_on = streams.goes_on(row + page) || went_on;
  EXPECT_TRUE(went_on);
}

} // namespace
