// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simulated_tlb.h simulates a machine with a known TLB, which answers the calibrator's chases. It
// has set-associative LRU levels, per page size or shared, a hypervisor's smaller pages, caches,
// and noise. The estimators see only latencies.
#pragma once

#include "runtime/measure/latency_source.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <map>
#include <numeric>
#include <random>
#include <vector>

namespace smalloc::calibrate {

struct SimulatedLevel {
  uint64_t entries = 64;
  unsigned ways = 0; // 0: fully associative
};

struct SimulatedMachine {
  SimulatedLevel l1_base{64, 4}, l1_super{32, 4};
  std::optional<SimulatedLevel> l2{{1536, 12}}; // serves both page sizes
  bool l1_shared = false;                       // one array, l1_base, serves both page sizes
  uint64_t host_page_bytes = uint64_t{1} << 40; // page size of the hypervisor's backing
  double hit = 4, l2_penalty = 7, walk_near = 25, walk_per_doubling = 4;
  // If all lines of the pages are in use: extra cycles of a walk, since data evict its tables from
  // the caches, and the cycles of the data themselves.
  double walk_beside_data = 0, data = 0;
  double superpage_walk = 1; // cost of a superpage's walk as a share of a base page's
  double noise = 0;          // relative, per chase
  double outliers = 0;       // share of chases that are disturbed for their whole length
  double prefetch = 0;       // share of chases that a prefetcher makes a third faster
  // Cycles that other users of the caches add to spread lines beyond 8192.
  double contention = 0;
  // Greatest extra cycles of a walk, depending on the memory; the value differs from refresh to
  // refresh.
  double memory_luck = 0;
  double scattered = 0; // extra cycles of a walk after every other refresh
  // Share of refreshes after which other processes add 300 cycles to each walk.
  double busy_rounds = 0;
  // Cycles that other processes add to dependent chases on superpages.
  double others_on_superpages = 0;
  uint64_t superpages = 400; // superpages that can be allocated
};

class SimulatedTlb : public LatencySource {
public:
  SimulatedTlb(SimulatedMachine machine, unsigned seed) : m_(machine), random_(seed) {}

  uint64_t max_lines(uint64_t page_bytes, uint64_t stride_bytes) const override {
    return page_bytes > 4096 ? m_.superpages * page_bytes / stride_bytes : 1 << 20;
  }

  void refresh() override {
    refreshes++;
    std::uniform_real_distribution<double> share(0, 1);
    round_ = m_.memory_luck * share(random_) + (share(random_) < m_.busy_rounds ? 300 : 0) +
             (refreshes % 2 ? m_.scattered : 0);
  }

  std::optional<Latency> chase(const Chase &chase) override {
    chases++;
    std::vector<uint64_t> order(chase.lines);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    Level l1_base(m_.l1_base), l1_super(m_.l1_super), l2(m_.l2.value_or(SimulatedLevel{1, 1}));
    double cycles = 0;
    // One lap fills the TLB, one is counted. Long laps need no filling, since their cold misses are
    // those of a full set.
    for (unsigned lap = 0; lap < 2; lap++)
      for (uint64_t i : order) {
        const auto [address, page] = place(chase, i);
        const uint64_t entry = std::min(page, m_.host_page_bytes);
        const bool super = page > 4096 && !m_.l1_shared;
        // Tag and page size are looked up together, so that sizes never alias.
        const uint64_t tag = address / entry * 4 + (entry > 4096);
        const uint64_t index = address / entry;
        double cost = m_.hit;
        if (!(super ? l1_super : l1_base).touch(index, tag)) {
          if (m_.l2 && l2.touch(index, tag))
            cost += m_.l2_penalty;
          else
            cost += (page > 4096 ? m_.superpage_walk : 1) *
                    (m_.walk_near + round_ + (chase.lines_a_page > 1 ? m_.walk_beside_data : 0) +
                     m_.walk_per_doubling *
                         std::max(0.0, std::log2(static_cast<double>(chase.lines) / 1024)));
        }
        cycles += lap ? cost : 0;
      }
    cycles /= static_cast<double>(chase.lines);
    if (chase.independent) // four loads at a time
      cycles /= 4;
    cycles += chase.lines_a_page > 1 ? m_.data : 0;
    cycles += chase.lines > 512 ? 10 : 0; // misses of the first-level data cache
    cycles += chase.lines > 8192 && !chase.dense ? m_.contention : 0;
    cycles += chase.page_bytes > 4096 && !chase.independent ? m_.others_on_superpages : 0;
    std::normal_distribution<double> gauss(0, m_.noise);
    std::uniform_real_distribution<double> share(0, 1);
    double ratio = 1 + std::fabs(gauss(random_));
    cycles *= 1 + std::fabs(gauss(random_)); // the minimum of many is never too small
    if (share(random_) < m_.outliers) {
      cycles *= 1.5;
      ratio = 1.4;
    }
    if (share(random_) < m_.prefetch)
      cycles -= (cycles - m_.hit) / 3;
    return Latency{cycles, ratio};
  }

  int chases = 0, refreshes = 0;

private:
  class Level {
  public:
    explicit Level(SimulatedLevel level)
        : sets_(level.ways ? std::max<uint64_t>(level.entries / level.ways, 1) : 1),
          ways_(level.ways ? level.ways : level.entries) {}
    bool touch(uint64_t index, uint64_t tag) {
      Set &set = content_[index % sets_];
      const auto found = set.where.find(tag);
      if (found != set.where.end()) {
        set.order.splice(set.order.begin(), set.order, found->second);
        return true;
      }
      set.order.push_front(tag);
      set.where[tag] = set.order.begin();
      if (set.order.size() > ways_) {
        set.where.erase(set.order.back());
        set.order.pop_back();
      }
      return false;
    }

  private:
    struct Set {
      std::list<uint64_t> order;
      std::map<uint64_t, std::list<uint64_t>::iterator> where;
    };
    uint64_t sets_, ways_;
    std::map<uint64_t, Set> content_;
  };

  std::pair<uint64_t, uint64_t> place(const Chase &chase, uint64_t i) const {
    constexpr uint64_t base = uint64_t{1} << 40;
    if (chase.dense)
      return {base + i * 64, 4096};
    if (chase.other_page_bytes && i % 2)
      return {2 * base + i / 2 * chase.other_page_bytes, chase.other_page_bytes};
    const uint64_t k = chase.other_page_bytes ? i / 2 : i;
    return {base + k * chase.stride_bytes, chase.page_bytes};
  }

  SimulatedMachine m_;
  double round_ = 0; // extra cycles of a walk in this round
  std::mt19937_64 random_;
};

} // namespace smalloc::calibrate
