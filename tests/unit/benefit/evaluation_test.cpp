// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/benefit/evaluation.h"
#include "runtime/benefit/objects.h"

#include "runtime/reuse/page_index.h"
#include "tests/unit/benefit/machine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace smalloc;
using namespace smalloc::benefit;

namespace {

using enum PageSize;

TEST(Evaluation, CyclesByHand) {
  // 128 pages in a loop with 64 entries: every access misses on base pages. On superpages: one
  // page, one miss.
  const CostModel costs(machine());
  Evaluation e(costs, {{kBase}, {kSuper}}, {}, 1);
  for (int round = 0; round < 100; round++)
    for (uint64_t page = 0; page < 128; page++)
      e.access(0x10000000 + page * 4096, {0, page * 4096}, 0);
  e.finish();
  EXPECT_EQ(e.accesses(), 12800);
  EXPECT_EQ(e.counts(0).tlb_misses, 12800);
  EXPECT_EQ(e.counts(0).page_faults, 128);
  EXPECT_EQ(e.counts(0).cycles, 12800 * 10 + 128 * 100);
  EXPECT_EQ(e.counts(1).tlb_misses, 1);
  EXPECT_EQ(e.counts(1).page_faults, 1);
  EXPECT_EQ(e.counts(1).cycles, 10 + 1000);
  EXPECT_EQ(e.saving(0, 1).cycles, 12800 * 10 + 128 * 100 - 1010);
}

// A forked process has its parent's pages, and the pages that the parent has just used are in the
// TLB.
TEST(Evaluation, WhatWasBeforeIsThereAndNotCounted) {
  const CostModel costs(machine());
  for (const uint32_t tlbs : {1u, 2u})
    for (const unsigned threads : {1u, 2u}) {
      Evaluation e(costs, {{kBase}, {kSuper}}, {}, threads, {.tlbs = tlbs});
      const auto go_round = [&](uint64_t pages) {
        for (uint64_t page = 0; page < pages; page++)
          e.access(0x10000000 + page * 4096, {0, page * 4096}, 0);
      };
      go_round(128);
      e.start_counting();
      go_round(129);
      e.finish();
      EXPECT_EQ(e.accesses(), 129);
      EXPECT_EQ(e.counts(0).tlb_misses, 129);
      EXPECT_EQ(e.counts(0).page_faults, 1);
      EXPECT_EQ(e.counts(0).cycles, 129 * 10 + 100);
      EXPECT_EQ(e.counts(1).tlb_misses, 0);
      EXPECT_EQ(e.counts(1).page_faults, 0);
      EXPECT_EQ(e.saving(0, 1).cycles, 129 * 10 + 100);
    }
}

// Samples show next to nothing of a heap. What it had before still exists, and counts for the
// price.
TEST(Evaluation, OfSamplesAHeapsGrowthIsTouched) {
  const CostModel costs(machine());
  Evaluation e(costs, {{kBase}, {kSuper}}, {.weight = 100, .misses = true}, 1);
  e.access(0x10000000, {0, 0}, 0);
  e.start_counting();
  e.access(0x10000000, {0, 0}, 0);
  e.finish(0, {5u << 20}, {1u << 20});
  EXPECT_EQ(e.counts(0).page_faults, 1024);
  EXPECT_EQ(e.counts(0).tlb_misses, 100);
  EXPECT_EQ(e.counts(1).page_faults, 2); // 3 and 1
  EXPECT_EQ(e.counts(1).tlb_misses, 0);
}

// Memory that is given back faults again on base pages, wherever it was; a heap of superpages keeps
// its memory. Half of it is given back: the other half stays touched. The walks are not affected.
TEST(Evaluation, PagesThatWereGivenBackFaultAgain) {
  const CostModel costs(machine());
  for (const unsigned threads : {1u, 2u}) {
    Evaluation e(costs, {{kBase}, {kSuper}}, {}, threads);
    for (int round = 0; round < 3; round++) {
      for (uint64_t page = 0; page < 128; page++)
        e.access(0x10000000 + page * 4096, {0, page * 4096}, 0);
      e.given_back(0x10000000, 0x10000000 + 64 * 4096, 0);
    }
    e.finish();
    EXPECT_EQ(e.counts(0).page_faults, 128 + 2 * 64);
    EXPECT_EQ(e.counts(0).tlb_misses, 3 * 128);
    EXPECT_EQ(e.counts(0).cycles, 3 * 128 * 10 + (128 + 2 * 64) * 100);
    EXPECT_EQ(e.counts(1).page_faults, 1);
  }
}

// 100 pages of a first category are read before they are written. 100 of a second are written at
// once, and 300 of a third are read first. Faults beyond the 500 first touches are shared out by
// pages that were read first, and are no more than these. In a sample there are none.
TEST(Evaluation, PagesReadFirstFaultTwiceAsFarAsThereWereFaults) {
  auto profile = machine();
  profile.read_first_ns.value = 40;
  const CostModel costs(profile);
  const auto of = [&](double faults, Sample sample) {
    auto e = std::make_unique<Evaluation>(
        costs, std::vector<Evaluation::Pages>{{}, {kSuper}, {kBase, kSuper}}, sample, 1);
    for (uint64_t page = 0; page < 500; page++) {
      const uint32_t category = page < 100 ? 0 : page < 200 ? 1 : 2;
      for (const bool write : {category == 1, true})
        e->access(0x10000000 + page * 4096, {category, page * 4096}, 0, write);
    }
    e->finish(faults);
    return e;
  };
  const double none = of(0, {})->counts(0).cycles;
  const auto half = of(500 + 200, {});
  EXPECT_EQ(half->counts(0).page_faults, 700);
  EXPECT_EQ(half->counts(0).cycles, none + 200 * 40);
  const auto all = of(5000, {});
  EXPECT_EQ(all->counts(0).page_faults, 900);
  EXPECT_EQ(all->counts(0).cycles, none + 400 * 40);
  // On superpages the first category has no second faults; the second category has none at all.
  const auto before = of(0, {});
  EXPECT_EQ(all->saving(0, 1).cycles, before->saving(0, 1).cycles + 100 * 40);
  EXPECT_EQ(all->saving(0, 2).cycles, before->saving(0, 2).cycles);
  EXPECT_EQ(of(400, {})->counts(0).cycles, none);
  EXPECT_EQ(of(5000, {0.5, 1, false})->counts(0).cycles, of(0, {0.5, 1, false})->counts(0).cycles);
}

// Memory that was given back is read as zeros once more.
TEST(Evaluation, PagesThatWereGivenBackAreReadFirstAgain) {
  const CostModel costs(machine());
  Evaluation e(costs, {{}}, {}, 1);
  for (int round = 0; round < 2; round++) {
    for (uint64_t page = 0; page < 100; page++)
      e.access(0x10000000 + page * 4096, {0, page * 4096}, 0, false);
    e.given_back(0x10000000, 0x10000000 + 100 * 4096, 0);
  }
  e.finish(1000);
  EXPECT_EQ(e.counts(0).page_faults, 400);
}

// A walk over 100 pages costs 40 cycles, over 10,000 pages 80: 20 more for ten times as many.
format::MachineProfile machine_of_expensive_walks() {
  auto profile = machine();
  profile.walk_cost = {{4096, 100, {40.0, {}, {}, "measured"}},
                       {4096, 10000, {80.0, {}, {}, "measured"}},
                       {2097152, 1, {7.0, {}, {}, "measured"}}};
  return profile;
}

// 200 pages once; then 100 of them in a loop with 64 entries. Each access misses, with 99 other
// pages since the last use. It costs the curve's value at 99 pages, whatever else was touched. A
// little of the growth there is added, since there is another distance. The first touches cost the
// curve's value at 200 pages.
TEST(Evaluation, AWalkCostsByItsReuseDistance) {
  auto profile = machine_of_expensive_walks();
  const double first = 40 + 20 * std::log10(200 / 100.0);
  for (const unsigned ways : {0u, 4u}) {
    profile.tlb[0].ways.value = ways;
    const CostModel costs(profile);
    Evaluation e(costs, {{kBase}}, {}, 1);
    for (uint64_t page = 0; page < 200; page++)
      e.access(0x10000000 + page * 4096, {0, 0}, 0);
    for (int round = 0; round < 101; round++)
      for (uint64_t page = 0; page < 100; page++)
        e.access(0x10000000 + page * 4096, {0, 0}, 0);
    e.finish();
    // In the first round 199 pages were used since, in the other hundred 99.
    const double share = 1 / 101.0, growth = 20 / std::log(10.0),
                 deviation = std::sqrt(share * (1 - share)) * std::log(199 / 99.0),
                 far = 40 + 20 * std::log10(199 / 100.0) + deviation * growth, near = 40;
    EXPECT_EQ(e.counts(0).tlb_misses, 200 + 101 * 100);
    const double walks = 200 * first + 100 * far + 100 * 100 * near;
    EXPECT_NEAR(e.counts(0).cycles / (walks + 200 * 100), 1, 1e-4) << ways;
  }
}

// 8,000 pages at random with 64 entries: distances are anything below 8,000. A miss costs the
// curve's value at 8,000, since the curve is of random accesses. This holds for exact traces, and
// for samples, in which distances are shorter than in the program.
TEST(Evaluation, RandomAccessesCostWhatTheCurveSays) {
  auto profile = machine_of_expensive_walks();
  // The curve is straight from the first page on.
  profile.walk_cost = {{4096, 1, {40.0, {}, {}, "measured"}},
                       {4096, 100000, {140.0, {}, {}, "measured"}}};
  const double walk = 40 + 20 * std::log10(8000);
  for (const double rate : {1.0, 0.25}) {
    const CostModel costs(profile);
    Evaluation e(costs, {{kBase}}, {rate, 1, false}, 1);
    std::mt19937_64 random(5);
    for (int i = 0; i < 2000000; i++) {
      const uint64_t page = random() % 8000;
      if (rate == 1 || page % 4 == 0)
        e.access(page << 21, {0, 0}, 0);
    }
    e.finish();
    const Counts c = e.counts(0);
    EXPECT_NEAR(c.page_faults, 8000, 1);
    EXPECT_NEAR((c.cycles - c.page_faults * 100) / c.tlb_misses / walk, 1, 0.005) << rate;
  }
}

// Superpages are few, so their walks cost little. If both sizes share an array, the pages of both
// count for a distance.
TEST(Evaluation, PagesOfBothSizesLieBetween) {
  auto profile = machine_of_expensive_walks();
  profile.tlb.resize(1);
  profile.tlb[0].page_bytes = {4096, 2097152};
  profile.tlb[0].shared = true;
  const CostModel costs(profile);
  Evaluation e(costs, {{kBase, kSuper}}, {}, 1);
  for (int round = 0; round < 11; round++)
    for (uint64_t page = 0; page < 100; page++) {
      e.access(0x10000000 + page * 4096, {0, 0}, 0);
      e.access(0x80000000 + (page << 21), {1, page << 21}, 0);
    }
  e.finish();
  EXPECT_EQ(e.counts(0).tlb_misses, 2200);
  const double first = 40, again = 40 + 20 * std::log10(199 / 100.0);
  const double faults = 100 * 100 + 100 * 1000;
  EXPECT_NEAR(e.counts(0).cycles / (200 * first + 2000 * again + faults), 1, 1e-3);
}

// A PMU's samples do not show how far back a page was used: all pages in use count.
TEST(Evaluation, SamplesOfAPmuTellNoDistance) {
  const CostModel costs(machine_of_expensive_walks());
  Evaluation e(costs, {{kBase}}, {1, 50, true}, 1);
  for (int round = 0; round < 10; round++)
    for (uint64_t page = 0; page < 1000; page++)
      e.access(0x10000000 + page * 4096, {0, 0}, 0);
  e.finish();
  EXPECT_EQ(e.counts(0).tlb_misses, 10000 * 50);
  EXPECT_NEAR(e.counts(0).cycles, 10000 * 50 * 60.0, 1e-3);
}

// A PMU's samples reach few of the base pages, and nearly every superpage: the first touches are
// those of the heap.
TEST(Evaluation, SamplesOfAPmuTellNoFirstTouches) {
  const CostModel costs(machine());
  for (const double faults : {0.0, 1e9, 2048.0}) {
    Evaluation e(costs, {{kBase}, {kSuper}}, {1, 50, true}, 1);
    for (uint64_t region = 0; region < 8; region++)
      e.access(0x10000000 + (region << 21), {0, region << 21}, 0);
    e.finish(faults, {8 << 21});
    EXPECT_EQ(e.counts(0).page_faults, faults == 2048 ? 2048 : 8 * 512) << faults;
    EXPECT_EQ(e.counts(1).page_faults, 8) << faults;
  }
}

// One sample proves nothing; a hundred are exact to a sixth.
TEST(Evaluation, FewSamplesOfAPmuAreFarFromSure) {
  const CostModel costs(machine_of_expensive_walks());
  for (const uint64_t samples : {1, 2, 101}) {
    Evaluation e(costs, {{kBase}, {kSuper}}, {1, 50, true}, 1);
    for (uint64_t i = 0; i < samples; i++)
      e.access(0x10000000 + i * 4096, {0, i * 4096}, 0);
    e.finish();
    const Evaluation::Saving saving = e.saving(0, 1);
    ASSERT_GT(saving.cycles, 0) << samples;
    EXPECT_EQ(saving.low > 0, samples == 101) << samples;
    if (samples == 101) {
      EXPECT_NEAR(saving.low / saving.cycles, 1 - 0.1645, 0.01);
    }
    EXPECT_NEAR(saving.high - saving.cycles, saving.cycles - saving.low, 1e-6);
  }
}

// First touches, whose price is measured for each size: 128 pages of 100 cycles against one
// superpage of 1,000. A category that fills little of its superpages loses.
TEST(Evaluation, FirstTouchesByHand) {
  auto profile = machine();
  for (format::WalkCost &cost : profile.walk_cost)
    cost.cycles.value = 0;
  const CostModel costs(profile);
  Evaluation e(costs, {{}, {kSuper, kBase}, {kBase, kSuper}}, {}, 1);
  for (int round = 0; round < 3; round++)
    for (uint64_t page = 0; page < 128; page++) {
      e.access(0x10000000 + page * 4096, {0, page * 4096}, 0);
      if (page < 4) // one page of each of 4 superpages
        e.access(0x80000000 + (page << 21), {1, page << 21}, 0);
    }
  e.finish();
  EXPECT_EQ(e.counts(0).page_faults, 132);
  EXPECT_EQ(e.counts(0).cycles, 132 * 100);
  EXPECT_EQ(e.counts(1).page_faults, 1 + 4);
  EXPECT_EQ(e.saving(0, 1).cycles, 128 * 100 - 1000);
  EXPECT_EQ(e.counts(2).page_faults, 128 + 4);
  EXPECT_EQ(e.saving(0, 2).cycles, 4 * 100 - 4 * 1000);
}

TEST(Evaluation, WhatFitsGainsOnlyFirstTouches) {
  const CostModel costs(machine());
  Evaluation e(costs, {{kBase}, {kSuper}}, {}, 1);
  for (int round = 0; round < 100; round++)
    for (uint64_t page = 0; page < 50; page++)
      e.access(0x10000000 + page * 4096, {0, page * 4096}, 7);
  e.finish();
  EXPECT_EQ(e.counts(0).tlb_misses, 50);
  EXPECT_EQ(e.accesses(), 100 * 50 * 8);
}

TEST(Evaluation, CategoriesShareTheTlb) {
  // Each alone would fit; together they do not, and it is enough to move one. The savings add up to
  // more than there is, which is why the chosen set is evaluated jointly.
  const CostModel costs(machine());
  Evaluation e(costs, {{}, {kSuper, kBase}, {kBase, kSuper}, {kSuper, kSuper}}, {}, 2);
  for (int round = 0; round < 200; round++)
    for (uint64_t page = 0; page < 40; page++) {
      e.access(0x10000000 + page * 4096, {0, page * 4096}, 0);
      e.access(0x20000000 + page * 4096, {1, page * 4096}, 0);
    }
  e.finish();
  EXPECT_EQ(e.counts(0).tlb_misses, 200 * 80);
  EXPECT_EQ(e.counts(1).tlb_misses, 41);
  EXPECT_EQ(e.counts(2).tlb_misses, 41);
  EXPECT_EQ(e.counts(3).tlb_misses, 2);
  EXPECT_GT(e.saving(0, 1).cycles + e.saving(0, 2).cycles, 1.5 * e.saving(0, 3).cycles);
}

// A large object that begins anywhere: each of its superpages lies in two of the sampled regions.
// Whole superpages are touched, however few regions are in the sample.
TEST(Evaluation, SampledSuperpagesAreCountedAsTheyAre) {
  const CostModel costs(machine());
  constexpr uint64_t kRegion = uint64_t{1} << 21, kStart = (uint64_t{5} << 30) + 1000 * 4096;
  constexpr uint64_t kPages = 4000 * kRegion / 4096;
  for (const double rate : {0.5, 0.1}) {
    Evaluation e(costs, {{kBase}, {kSuper}}, {rate, 1, false}, 1);
    for (uint64_t page = 0; page < kPages; page++) {
      const uint64_t address = kStart + page * 4096;
      if (static_cast<double>(reuse::mix(address / kRegion) >> 32) < rate * 0x1p32)
        e.access(address, {0, page * 4096}, 0);
    }
    e.finish();
    EXPECT_NEAR(e.counts(0).page_faults / kPages, 1, 0.15) << rate;
    EXPECT_NEAR(e.counts(1).page_faults / 4000, 1, 0.15) << rate;
    // One pass over everything is few batches, but many regions: the interval has a width, and
    // holds the truth.
    const auto saving = e.saving(0, 1);
    const double truth = kPages * (100 + 10) - 4000 * (1000 + 10);
    EXPECT_LT(saving.low, saving.cycles);
    EXPECT_GT(saving.high, saving.cycles);
    EXPECT_NEAR(saving.cycles / truth, 1, 0.2) << rate;
  }
}

// An object that begins anywhere, a little smaller than the reach of superpages: only first touches
// miss, in a sample as in the whole.
TEST(Evaluation, SampledSuperpagesAreReusedAsTheyAre) {
  constexpr uint64_t kRegion = uint64_t{1} << 21, kStart = (uint64_t{5} << 30) + 1000 * 4096;
  constexpr uint64_t kSuperpages = 1500;
  auto profile = machine();
  for (auto &level : profile.tlb)
    if (!level.page_bytes.empty() && level.page_bytes.back() == kRegion)
      level.entries.value = 2000, level.ways.value = 0;
  const CostModel costs(profile);
  ASSERT_EQ(costs.superpage().entries, 2000u);
  for (const double rate : {1.0, 0.1}) {
    Objects objects(Grouping::kSite);
    objects.allocate(1, kStart, kSuperpages * kRegion);
    Evaluation e(costs, {{kSuper}}, {rate, 1, false}, 1);
    std::mt19937_64 random(1);
    for (int i = 0; i < 400000; i++) {
      const uint64_t address = kStart + random() % (kSuperpages * kRegion);
      if (static_cast<double>(reuse::mix(address / kRegion) >> 32) >= rate * 0x1p32)
        continue;
      const Objects::Place place = objects.find(address);
      e.access(address, place, 0);
    }
    e.finish();
    EXPECT_NEAR(e.counts(0).page_faults / kSuperpages, 1, 0.15) << rate;
    EXPECT_LT(e.counts(0).tlb_misses, 20000) << rate; // of 400,000
  }
}

TEST(Evaluation, ThreadsChangeNothing) {
  const CostModel costs(machine());
  Evaluation one(costs, {{kBase}, {kSuper}, {kBase, kSuper}}, {0.5}, 1),
      many(costs, {{kBase}, {kSuper}, {kBase, kSuper}}, {0.5}, 3),
      whole(costs, {{kBase}, {kSuper}}, {}, 1);
  std::mt19937_64 random(1);
  for (int i = 0; i < 600000; i++) { // more than a batch
    const uint64_t address = random() % (1 << 24);
    const uint32_t category = address >> 23 ? 1 : 0;
    one.access(address, {category, address}, 0);
    many.access(address, {category, address}, 0);
    whole.access(address, {category, address}, 0);
  }
  one.finish();
  many.finish();
  whole.finish();
  for (size_t i = 0; i < 3; i++)
    EXPECT_EQ(one.counts(i).cycles, many.counts(i).cycles);
  const auto saving = one.saving(0, 1);
  EXPECT_LE(saving.low, saving.cycles);
  EXPECT_GE(saving.high, saving.cycles);
  EXPECT_LT(saving.low, saving.high);
  EXPECT_GT(saving.low, 0);
  // If every access is in the trace, nothing depends on chance.
  const auto exact = whole.saving(0, 1);
  EXPECT_GT(exact.cycles, 0);
  EXPECT_EQ(exact.low, exact.cycles);
  EXPECT_EQ(exact.high, exact.cycles);
}

// 64 entries in sets of 4. Pages at a stride of 16 share one set, so 5 of them miss for ever. The
// binomial model, or one list of 64, lets nearly all of them hit. 60 neighbours fall evenly on the
// sets and stay, while the model predicts collisions.
TEST(Evaluation, StridesAndNeighboursInSets) {
  auto profile = machine();
  for (auto &level : profile.tlb)
    level.ways.value = 4;
  const CostModel costs(profile);
  const auto misses = [&](uint64_t pages, uint64_t stride) {
    Evaluation e(costs, {{kBase}}, {}, 1);
    for (int round = 0; round < 100; round++)
      for (uint64_t page = 0; page < pages; page++)
        e.access(0x10000000 + page * stride * 4096, {0, 0}, 0);
    e.finish();
    return e.counts(0).tlb_misses;
  };
  EXPECT_EQ(misses(5, 16), 500);
  EXPECT_EQ(misses(4, 16), 4);
  EXPECT_EQ(misses(5, 17), 5);
  EXPECT_EQ(misses(60, 1), 60);
}

TEST(Evaluation, HeapsOfSuperpagesBeginInDifferentSets) {
  // One superpage of each of 8 sites: in one set of 4 they would displace each other.
  auto profile = machine();
  for (auto &level : profile.tlb)
    level.ways.value = 4;
  const CostModel costs(profile);
  Evaluation e(costs, {Evaluation::Pages(8, kSuper)}, {}, 1);
  for (int round = 0; round < 100; round++)
    for (uint32_t site = 0; site < 8; site++)
      e.access(0x10000000 + (uint64_t{site} << 30), {site, 0}, 0);
  e.finish();
  EXPECT_LT(e.counts(0).tlb_misses, 400);
}

TEST(Evaluation, SamplesStandForTheWhole) {
  // 4,000 regions at random, a tenth of them recorded: the result is the misses of all.
  auto profile = machine();
  for (auto &level : profile.tlb)
    level.entries.value = 2000;
  const CostModel costs(profile);
  Evaluation all(costs, {{kBase}}, {}, 1), tenth(costs, {{kBase}}, {0.1}, 1);
  std::mt19937_64 random(2);
  for (int i = 0; i < 400000; i++) {
    const uint64_t region = random() % 4000, address = region << 21;
    all.access(address, {0, 0}, 0);
    if (region % 10 == 0)
      tenth.access(address, {0, 0}, 0);
  }
  all.finish();
  tenth.finish();
  EXPECT_NEAR(tenth.counts(0).tlb_misses / all.counts(0).tlb_misses, 1, 0.05);
  EXPECT_NEAR(tenth.counts(0).page_faults, 4000, 1);
}

TEST(EvaluationOfSizes, EachAccessOfAPmuStandsForItsPeriod) {
  // Random pages, one access of 50 recorded: the misses are as many, and the pages seen are not
  // multiplied.
  auto profile = machine();
  for (auto &level : profile.tlb)
    level.ways.value = 4;
  const CostModel costs(profile);
  Evaluation all(costs, {{kBase}}, {}, 1), told(costs, {{kBase}}, {1, 50}, 1);
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000000; i++) {
    const uint64_t address = random() % 256 << 12;
    all.access(address, {0, 0}, 0);
    if (random() % 50 == 0)
      told.access(address, {0, 0}, 0);
  }
  all.finish();
  told.finish();
  EXPECT_EQ(told.counts(0).page_faults, 256);
  EXPECT_NEAR(told.counts(0).tlb_misses / all.counts(0).tlb_misses, 1, 0.05);
}

// Two loops over 64 pages each, in TLBs of 64 and in one; over the same pages, and over others.
TEST(EvaluationOfThreads, EachCoreHasATlbOfItsOwn) {
  const CostModel costs(machine());
  for (const uint32_t tlbs : {1u, 2u})
    for (const bool same : {false, true}) {
      Evaluation e(costs, {{kBase}, {kSuper}}, {}, 1, {.tlbs = tlbs});
      for (int round = 0; round < 10; round++)
        for (uint64_t page = 0; page < 64; page++)
          for (uint32_t thread = 0; thread < 2; thread++) {
            const uint64_t at = page + (same ? 0 : thread * 64);
            e.access(0x10000000 + at * 4096, {0, at * 4096}, 0, true, thread % tlbs);
          }
      e.finish();
      // A page that one core has touched faults on no other, but misses there.
      const double pages = same ? 64 : 128, misses = same ? 64 * tlbs : tlbs == 2 ? 128 : 1280;
      EXPECT_EQ(e.counts(0).page_faults, pages) << tlbs << same;
      EXPECT_EQ(e.counts(0).tlb_misses, misses) << tlbs << same;
      EXPECT_EQ(e.counts(0).touch_cycles, pages * 100) << tlbs << same;
      EXPECT_EQ(e.counts(0).cycles, misses * 10 + pages * 100) << tlbs << same;
      EXPECT_EQ(e.counts(1).page_faults, 1) << tlbs << same;
      EXPECT_EQ(e.counts(1).tlb_misses, tlbs) << tlbs << same;
    }
}

// Memory that the program has given back faults again, on whichever core comes first, and only
// once.
TEST(EvaluationOfThreads, WhatIsGivenBackIsGoneForAll) {
  const CostModel costs(machine());
  Evaluation e(costs, {{kBase}}, {}, 1, {.tlbs = 2});
  const auto touch = [&](uint32_t tlb) { e.access(0x10000000, {0, 0}, 0, true, tlb); };
  touch(0);
  touch(1);
  e.given_back(0x10000000, 0x10001000, 0);
  touch(1);
  touch(0);
  e.finish();
  EXPECT_EQ(e.counts(0).page_faults, 2);
  EXPECT_EQ(e.counts(0).tlb_misses, 4);
}

} // namespace
