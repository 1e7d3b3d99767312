// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reuse/associativity.h"
#include "runtime/reuse/distance_counter.h"
#include "tests/unit/reuse/streams.h"

#include <gtest/gtest.h>

#include <list>
#include <stdexcept>

using namespace smalloc::reuse;

namespace {

// Returns the misses that MissShare expects of accesses with these distances. First accesses miss.
double misses_in_sets(const Histogram &distances, uint64_t entries, uint64_t ways) {
  MissShare share(entries, ways);
  double misses = distances.cold();
  for (size_t i = 0; i < distances.bins(); i++)
    if (const Histogram::Bin bin = distances.bin(i); bin.weight != 0)
      misses += bin.weight * share.at(bin.low + (bin.high - bin.low - 1) / 2);
  return misses;
}

// Returns the misses of a simulated TLB with sets. A page's set is random, as the model assumes.
double simulated(const Stream &stream, uint64_t entries, uint64_t ways, uint64_t seed) {
  const uint64_t sets = entries / ways;
  std::vector<std::list<uint64_t>> lru(sets);
  double misses = 0;
  for (uint64_t page : stream) {
    auto &set = lru[mix(page + seed) % sets];
    const auto at = std::find(set.begin(), set.end(), page);
    if (at == set.end()) {
      misses++;
      if (set.size() == ways)
        set.pop_back();
    } else {
      set.erase(at);
    }
    set.push_front(page);
  }
  return misses;
}

TEST(Associativity, OneSetIsFullyAssociative) {
  DistanceCounter counter;
  counter.access(uniform(100, 5000, 1));
  EXPECT_EQ(misses_in_sets(counter.histogram(), 64, 0), counter.misses(64));
  EXPECT_EQ(misses_in_sets(counter.histogram(), 64, 64), counter.misses(64));
}

TEST(Associativity, FewerPagesThanWaysAlwaysHit) {
  Histogram h;
  h.add(3, 10);
  EXPECT_NEAR(misses_in_sets(h, 64, 4), 0, 1e-9);
}

TEST(Associativity, HandComputedDirectMapped) {
  // Two sets of one way: distance d hits with probability 1/2^d.
  Histogram h;
  h.add(0);
  h.add(1);
  h.add(2);
  h.add_cold();
  EXPECT_DOUBLE_EQ(misses_in_sets(h, 2, 1), 0 + 0.5 + 0.75 + 1);
}

TEST(Associativity, AgreesWithASimulatedTlb) {
  for (const Stream &stream :
       {zipf(3000, 0.8, 100000, 2), uniform(2500, 100000, 3), cycle(1400, 100000)}) {
    DistanceCounter counter;
    counter.access(stream);
    for (auto [entries, ways] : {std::pair<uint64_t, uint64_t>{1536, 6}, {1024, 2}, {256, 4}}) {
      constexpr int kPlacements = 6; // a page's set is random; the model gives the mean
      double simulation = 0;
      for (int i = 0; i < kPlacements; i++)
        simulation += simulated(stream, entries, ways, mix(static_cast<uint64_t>(i))) / kPlacements;
      const auto accesses = static_cast<double>(stream.size());
      EXPECT_NEAR(misses_in_sets(counter.histogram(), entries, ways) / accesses,
                  simulation / accesses, 0.02)
          << entries << " entries, " << ways << " ways";
    }
  }
}

TEST(Associativity, CyclesThatFitStillCollide) {
  // The full LRU model predicts no miss, and is wrong: the correction exists for this case.
  DistanceCounter counter;
  counter.access(cycle(1400, 100000));
  EXPECT_EQ(counter.misses(1536), 1400);
  EXPECT_GT(misses_in_sets(counter.histogram(), 1536, 6), 20000);
}

TEST(Associativity, RefusesImpossibleShapes) {
  EXPECT_THROW(MissShare(0, 4), std::invalid_argument);
  EXPECT_THROW(MissShare(10, 4), std::invalid_argument);
}

TEST(MissShare, ByHand) {
  // Two sets of one way: a page hits if all pages between its uses fell into the other set.
  MissShare sets(2, 1);
  EXPECT_DOUBLE_EQ(sets.at(0), 0);
  EXPECT_DOUBLE_EQ(sets.at(1), 0.5);
  EXPECT_DOUBLE_EQ(sets.at(3), 0.875);
  EXPECT_DOUBLE_EQ(sets.at(3), 0.875);
  EXPECT_EQ(sets.at(1000), 1);
  MissShare one(4, 0);
  EXPECT_EQ(one.at(3), 0);
  EXPECT_EQ(one.at(4), 1);
}

} // namespace
