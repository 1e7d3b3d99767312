// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/benefit/evaluation.h"

#include <gtest/gtest.h>

#include <random>

using namespace smalloc;
using namespace smalloc::benefit;

namespace {

format::MachineProfile machine() {
  return format::parse_machine(
      R"({"schema": "smalloc.machine/1", "name": "m", "frequency_hz": 1e9,
          "tlb": [{"level": 1, "kind": "data", "page_bytes": [4096], "entries": 64, "ways": 0},
                  {"level": 1, "kind": "data", "page_bytes": [2097152], "entries": 16, "ways": 0}],
          "walk_cost": [{"page_bytes": 4096, "cycles": 10}],
          "first_touch_ns": [{"page_bytes": 4096, "value": 100}, {"page_bytes": 2097152, "value": 1000}]})");
}

TEST(Evaluation, CyclesByHand) {
  // 128 pages round and round, 64 entries: every access misses on base pages. On superpages: one page, one miss.
  const CostModel costs(machine());
  Evaluation e(costs, {{false}, {true}}, 1, 1);
  for (int round = 0; round < 100; round++)
    for (uint64_t page = 0; page < 128; page++)
      e.access(0x10000000 + page * 4096, page * 4096, 0, 0);
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

TEST(Evaluation, WhatFitsGainsOnlyFirstTouches) {
  const CostModel costs(machine());
  Evaluation e(costs, {{false}, {true}}, 1, 1);
  for (int round = 0; round < 100; round++)
    for (uint64_t page = 0; page < 50; page++)
      e.access(0x10000000 + page * 4096, page * 4096, 0, 7);
  e.finish();
  EXPECT_EQ(e.counts(0).tlb_misses, 50);
  EXPECT_EQ(e.accesses(), 100 * 50 * 8);
}

TEST(Evaluation, CategoriesShareTheTlb) {
  // Each alone would fit; together they do not, and it is enough to move one: a saving that adds up to more than
  // there is, which is why the chosen set is evaluated jointly.
  const CostModel costs(machine());
  Evaluation e(costs, {{}, {true, false}, {false, true}, {true, true}}, 1, 2);
  for (int round = 0; round < 200; round++)
    for (uint64_t page = 0; page < 40; page++) {
      e.access(0x10000000 + page * 4096, page * 4096, 0, 0);
      e.access(0x20000000 + page * 4096, page * 4096, 1, 0);
    }
  e.finish();
  EXPECT_EQ(e.counts(0).tlb_misses, 200 * 80);
  EXPECT_EQ(e.counts(1).tlb_misses, 41);
  EXPECT_EQ(e.counts(2).tlb_misses, 41);
  EXPECT_EQ(e.counts(3).tlb_misses, 2);
  EXPECT_GT(e.saving(0, 1).cycles + e.saving(0, 2).cycles, 1.5 * e.saving(0, 3).cycles);
}

TEST(Evaluation, ThreadsChangeNothing) {
  const CostModel costs(machine());
  Evaluation one(costs, {{false}, {true}, {false, true}}, 0.5, 1),
      many(costs, {{false}, {true}, {false, true}}, 0.5, 3), whole(costs, {{false}, {true}}, 1, 1);
  std::mt19937_64 random(1);
  for (int i = 0; i < 600000; i++) { // more than a batch
    const uint64_t address = random() % (1 << 24);
    const uint32_t category = address >> 23 ? 1 : 0;
    one.access(address, address, category, 0);
    many.access(address, address, category, 0);
    whole.access(address, address, category, 0);
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
  // Where every access is there nothing is left to chance.
  const auto exact = whole.saving(0, 1);
  EXPECT_GT(exact.cycles, 0);
  EXPECT_EQ(exact.low, exact.cycles);
  EXPECT_EQ(exact.high, exact.cycles);
}

// 64 entries in sets of 4: a stride of 16 pages has one set, so 5 of its pages miss for ever, where the binomial model, or
// one list of 64, lets nearly all of them hit; 60 neighbours fall evenly on the sets and stay, where the model sees collisions.
TEST(Evaluation, StridesAndNeighboursInSets) {
  auto profile = machine();
  for (auto &level : profile.tlb)
    level.ways.value = 4;
  const CostModel costs(profile);
  const auto misses = [&](uint64_t pages, uint64_t stride) {
    Evaluation e(costs, {{false}}, 1, 1);
    for (int round = 0; round < 100; round++)
      for (uint64_t page = 0; page < pages; page++)
        e.access(0x10000000 + page * stride * 4096, 0, 0, 0);
    e.finish();
    return e.counts(0).tlb_misses;
  };
  EXPECT_EQ(misses(5, 16), 500);
  EXPECT_EQ(misses(4, 16), 4);
  EXPECT_EQ(misses(5, 17), 5);
  EXPECT_EQ(misses(60, 1), 60);
}

TEST(Evaluation, HeapsOfSuperpagesBeginInDifferentSets) {
  // A superpage of each of 8 sites: in one set of 4 they would drive each other out.
  auto profile = machine();
  for (auto &level : profile.tlb)
    level.ways.value = 4;
  const CostModel costs(profile);
  Evaluation e(costs, {std::vector<bool>(8, true)}, 1, 1);
  for (int round = 0; round < 100; round++)
    for (uint32_t site = 0; site < 8; site++)
      e.access(0x10000000 + (uint64_t{site} << 30), 0, site, 0);
  e.finish();
  EXPECT_LT(e.counts(0).tlb_misses, 400);
}

TEST(Evaluation, SamplesStandForTheWhole) {
  // 4,000 regions at random, a tenth of them recorded: the misses of all.
  auto profile = machine();
  for (auto &level : profile.tlb)
    level.entries.value = 2000;
  const CostModel costs(profile);
  Evaluation all(costs, {{false}}, 1, 1), tenth(costs, {{false}}, 0.1, 1);
  std::mt19937_64 random(2);
  for (int i = 0; i < 400000; i++) {
    const uint64_t region = random() % 4000, address = region << 21;
    all.access(address, 0, 0, 0);
    if (region % 10 == 0)
      tenth.access(address, 0, 0, 0);
  }
  all.finish();
  tenth.finish();
  EXPECT_NEAR(tenth.counts(0).tlb_misses / all.counts(0).tlb_misses, 1, 0.05);
  EXPECT_NEAR(tenth.counts(0).page_faults, 4000, 1);
}

} // namespace
