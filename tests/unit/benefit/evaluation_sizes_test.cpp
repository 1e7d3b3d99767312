// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests several page sizes at once against a plainly written TLB.
#include "runtime/benefit/evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>
#include <set>

using namespace smalloc;
using namespace smalloc::benefit;

namespace {

using enum PageSize;

format::MachineProfile machine_of_sizes(bool shared) {
  auto profile = format::parse_machine(
      R"({"schema": "smalloc.machine/1", "name": "m", "frequency_hz": 1e9,
          "tlb": [{"level": 1, "kind": "data", "page_bytes": [4096], "entries": 64, "ways": 0},
                  {"level": 1, "kind": "data", "page_bytes": [65536], "entries": 24, "ways": 0},
                  {"level": 1, "kind": "data", "page_bytes": [2097152], "entries": 12, "ways": 0},
                  {"level": 1, "kind": "data", "page_bytes": [1073741824], "entries": 3,
                   "ways": 0}],
          "walk_cost": [{"page_bytes": 4096, "cycles": 40}, {"page_bytes": 65536, "cycles": 30},
                        {"page_bytes": 2097152, "cycles": 20},
                        {"page_bytes": 1073741824, "cycles": 10}],
          "first_touch_ns": [{"page_bytes": 4096, "value": 1}, {"page_bytes": 65536, "value": 2},
                             {"page_bytes": 2097152, "value": 3},
                             {"page_bytes": 1073741824, "value": 4}]})");
  if (shared) {
    profile.tlb.resize(1);
    profile.tlb[0].page_bytes = {4096, 65536, 2097152, 1073741824};
    profile.tlb[0].shared = true;
  }
  return profile;
}

// A plainly written TLB: one list for each page size, or one for all, searched from the latest page
// on.
class PlainTlb {
public:
  explicit PlainTlb(bool shared) : shared_(shared) {}
  void access(PageSize size, uint64_t page) {
    auto &list = lists_[shared_ ? 0 : static_cast<size_t>(size)];
    const std::pair<PageSize, uint64_t> key = {size, page};
    const auto at = std::find(list.begin(), list.end(), key);
    if (at == list.end()) {
      misses_++;
      cycles_ += kWalks[shared_ ? 0 : static_cast<size_t>(size)];
    } else {
      list.erase(at);
    }
    list.push_front(key);
    if (list.size() > kEntries[shared_ ? 0 : static_cast<size_t>(size)])
      list.pop_back();
    if (touched_.insert(key).second)
      cycles_ += kFaults[static_cast<size_t>(size)];
  }
  double misses() const { return misses_; }
  double cycles() const { return cycles_; }
  double faults() const { return static_cast<double>(touched_.size()); }

private:
  static constexpr size_t kEntries[] = {64, 24, 12, 3};
  static constexpr double kWalks[] = {40, 30, 20, 10}, kFaults[] = {1, 2, 3, 4};
  bool shared_;
  std::list<std::pair<PageSize, uint64_t>> lists_[kPageSizes];
  std::set<std::pair<PageSize, uint64_t>> touched_;
  double misses_ = 0, cycles_ = 0;
};

TEST(EvaluationOfSizes, CountsAsAPlainSimulation) {
  for (const bool shared : {false, true}) {
    const CostModel costs(machine_of_sizes(shared));
    const std::vector<Evaluation::Pages> mappings = {{},
                                                     {kMedium},
                                                     {kSuper},
                                                     {kGigantic},
                                                     {kMedium, kSuper, kGigantic},
                                                     {kGigantic, kMedium, kSuper},
                                                     {kSuper, kSuper, kMedium},
                                                     {kBase, kGigantic, kGigantic}};
    Evaluation e(costs, mappings, {}, 1);
    std::vector<PlainTlb> plain(mappings.size(), PlainTlb(shared));
    std::mt19937_64 random(7);
    constexpr uint64_t kGib = 1 << 30;
    for (int i = 0; i < 60000; i++) {
      const auto category = static_cast<uint32_t>(random() % 3);
      // Offsets in 6 GiB, half of the accesses in the first 8 MiB. The last two GiB count as no
      // whole ones.
      const uint64_t offset = random() % 2 ? random() % (8 << 20) : random() % (6 * kGib);
      const bool in_gib = offset < 4 * kGib;
      const uint64_t address = (uint64_t{category} + 1) * 16 * kGib + offset;
      e.access(address, {category, offset, in_gib}, 0);
      for (size_t m = 0; m < mappings.size(); m++) {
        PageSize size = category < mappings[m].size() ? mappings[m][category] : kBase;
        if (size == kGigantic && !in_gib)
          size = kSuper;
        plain[m].access(size, size == kBase
                                  ? address >> 12
                                  : uint64_t{category} << 40 | offset >> page_shift(size));
      }
    }
    e.finish();
    for (size_t m = 0; m < mappings.size(); m++) {
      EXPECT_EQ(e.counts(m).tlb_misses, plain[m].misses()) << m << shared;
      EXPECT_EQ(e.counts(m).page_faults, plain[m].faults()) << m << shared;
      EXPECT_DOUBLE_EQ(e.counts(m).cycles, plain[m].cycles()) << m << shared;
    }
  }
}

TEST(EvaluationOfSizes, OfAGibASampleOfItsRegions) {
  // The loop accesses 4 pages of a GiB in turn with 3 entries, region by region of 2 MiB: every
  // access misses. A sixteenth of the regions is recorded; each page is among them.
  const CostModel costs(machine_of_sizes(false));
  Evaluation all(costs, {{kGigantic}}, {}, 1), some(costs, {{kGigantic}}, {1.0 / 16}, 1);
  for (int round = 0; round < 20; round++)
    for (uint64_t region = 0; region < 512; region++)
      for (uint64_t gib = 0; gib < 4; gib++) {
        const uint64_t address = (gib << 30) + (region << 21);
        all.access(address, {0, address, true}, 0);
        if (region % 16 == 0)
          some.access(address, {0, address, true}, 0);
      }
  all.finish();
  some.finish();
  EXPECT_EQ(all.counts(0).tlb_misses, 20 * 512 * 4);
  EXPECT_EQ(all.counts(0).page_faults, 4);
  EXPECT_EQ(some.counts(0).page_faults, 4);
  EXPECT_NEAR(some.counts(0).tlb_misses, 20 * 512 * 4, 4 * 16);
}

TEST(EvaluationOfSizes, WhatMissedOnBasePagesMissesThereForEver) {
  // Misses sampled by a PMU, one of 100. Two pages come in turn, which any list would hold, with
  // one page of another category.
  for (const bool shared : {false, true}) {
    const CostModel costs(machine_of_sizes(shared));
    Evaluation e(costs, {{}, {kSuper}, {kSuper, kSuper}}, {1, 100, true}, 1);
    for (uint64_t i = 0; i < 50; i++) {
      e.access(0x10000000 + i % 2 * 4096, {0, i % 2 * 4096}, 0);
      e.access(0x20000000, {1, 0}, 0);
    }
    e.finish(0, {2 * 4096, 4096});
    EXPECT_EQ(e.counts(0).tlb_misses, 100 * 100);
    EXPECT_EQ(e.counts(0).page_faults, 3);
    EXPECT_EQ(e.counts(1).tlb_misses, 50 * 100 + 1); // the first touch of its superpage
    EXPECT_EQ(e.counts(2).tlb_misses, 2);
  }
}

} // namespace
