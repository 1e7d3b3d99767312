// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reuse/distance_counter.h"
#include "runtime/reuse/marker_list.h"
#include "tests/unit/reuse/streams.h"

#include <gtest/gtest.h>

#include <random>

#include <map>

using namespace smalloc::reuse;

namespace {

const std::vector<uint64_t> kCapacities = {1, 2, 3, 4, 7, 16, 17, 64, 100, 256, 1000};

struct Case {
  const char *name;
  Stream stream;
};

std::vector<Case> cases() {
  return {{"one page", Stream(50, 7)},
          {"the paper's", letters("abcca")},
          {"cycle as long as a capacity", cycle(16, 1000)},
          {"cycle one longer", cycle(17, 1000)},
          {"uniform", uniform(300, 4000, 1)},
          {"uniform, many", uniform(3000, 5000, 2)},
          {"zipf", zipf(500, 0.8, 4000, 3)},
          {"zipf, sparse", zipf(500, 0.8, 4000, 4, 5003)},
          {"mixed", mixed(5000, 5)}};
}

// Passes the stream in pieces of changing size, so that nothing depends on where a call ends.
void feed(Engine &engine, const Stream &stream) {
  size_t piece = 1;
  for (size_t i = 0; i < stream.size(); i += piece, piece = piece * 3 % 101 + 1)
    engine.access({stream.data() + i, std::min(piece, stream.size() - i)});
}

TEST(Oracle, PaperExampleByHand) {
  // Cascaval et al., section 3: in a b c c a the first a is infinite, the second has 2.
  EXPECT_EQ(oracle_distances(letters("abcca")),
            (std::vector<uint64_t>{kInfinite, kInfinite, kInfinite, 0, 2}));
}

std::map<uint64_t, double> histogram_of(const Stream &stream) {
  DistanceCounter counter;
  feed(counter, stream);
  std::map<uint64_t, double> h;
  for (size_t i = 0; i < counter.histogram().bins(); i++)
    if (const auto bin = counter.histogram().bin(i); bin.weight != 0)
      h[bin.low] = bin.weight;
  h[kInfinite] = counter.histogram().cold();
  return h;
}

TEST(DistanceCounter, HandComputedHistograms) {
  using H = std::map<uint64_t, double>;
  EXPECT_EQ(histogram_of(letters("abcca")), (H{{0, 1}, {2, 1}, {kInfinite, 3}}));
  EXPECT_EQ(histogram_of(letters("aaaa")), (H{{0, 3}, {kInfinite, 1}}));
  // a b a b: each second use has one page in between.
  EXPECT_EQ(histogram_of(letters("abab")), (H{{1, 2}, {kInfinite, 2}}));
  // a b c a b c c b a: 2 2 2 0 1 2.
  EXPECT_EQ(histogram_of(letters("abcabccba")), (H{{0, 1}, {1, 1}, {2, 4}, {kInfinite, 3}}));
}

TEST(DistanceCounter, AgreesWithTheOracleAccessByAccess) {
  for (const Case &c : cases()) {
    DistanceCounter counter;
    const auto expected = oracle_distances(c.stream);
    for (size_t i = 0; i < c.stream.size(); i++)
      ASSERT_EQ(counter.distance_of(c.stream[i]), expected[i]) << c.name << " at " << i;
  }
}

TEST(DistanceCounter, AgreesWithTheOracleAcrossCompactions) {
  // More accesses than the first table has moments, several times over. The oracle is an LRU list,
  // since the quadratic one would take minutes.
  const Stream stream = zipf(700, 0.5, 100000, 6);
  std::vector<uint64_t> list;
  DistanceCounter counter;
  for (size_t i = 0; i < stream.size(); i++) {
    const auto at = std::find(list.begin(), list.end(), stream[i]);
    const uint64_t expected =
        at == list.end() ? kInfinite : static_cast<uint64_t>(at - list.begin());
    if (at != list.end())
      list.erase(at);
    list.insert(list.begin(), stream[i]);
    ASSERT_EQ(counter.distance_of(stream[i]), expected) << i;
  }
  EXPECT_EQ(counter.distinct_pages(), list.size());
}

TEST(DistanceCounter, ForgottenPagesCountNoMore) {
  DistanceCounter counter;
  for (uint64_t page : {1, 2, 3, 4})
    counter.distance_of(page);
  counter.forget(3);
  counter.forget(99);                    // never seen
  EXPECT_EQ(counter.distance_of(1), 2u); // 2 and 4
  EXPECT_EQ(counter.distance_of(3), DistanceCounter::kCold);
  EXPECT_EQ(counter.distinct_pages(), 4u);
}

TEST(DistanceCounter, AForgottenPageIsColdAlsoRightAfterItsUse) {
  DistanceCounter counter;
  const uint64_t page[] = {7}, other[] = {8};
  counter.access(page);
  counter.forget(7);
  counter.access(page);
  EXPECT_EQ(counter.histogram().cold(), 2);
  EXPECT_EQ(counter.distinct_pages(), 1u);
  counter.access(other);
  counter.use(7); // between two accesses to page 8
  counter.access(other);
  EXPECT_EQ(counter.misses(1), 4);
}

TEST(DistanceCounter, UsesThatNobodyAsksAboutCountAllTheSame) {
  DistanceCounter asked, now_and_then;
  std::mt19937_64 random(4);
  for (const uint64_t page : uniform(5000, 100000, 6)) {
    const uint64_t distance = asked.distance_of(page);
    if (random() % 3 == 0)
      ASSERT_EQ(now_and_then.distance_of(page), distance);
    else
      ASSERT_EQ(now_and_then.use(page), distance == DistanceCounter::kCold);
  }
  EXPECT_EQ(now_and_then.distinct_pages(), asked.distinct_pages());
}

TEST(DistanceCounter, MemoryFollowsPagesNotAccesses) {
  DistanceCounter counter;
  const Stream stream = uniform(1000, 20000, 7);
  counter.access(stream);
  const size_t once = counter.memory_bytes();
  for (int i = 0; i < 20; i++)
    counter.access(stream);
  EXPECT_EQ(counter.memory_bytes(), once);
}

TEST(MarkerList, AgreesWithTheOracleForEveryCapacity) {
  for (const Case &c : cases()) {
    const auto expected = oracle_distances(c.stream);
    MarkerList list(kCapacities);
    feed(list, c.stream);
    EXPECT_EQ(list.accesses(), static_cast<double>(c.stream.size()));
    for (uint64_t capacity : kCapacities)
      EXPECT_EQ(list.misses(capacity), static_cast<double>(oracle_misses(expected, capacity)))
          << c.name << ", capacity " << capacity;
  }
}

TEST(MarkerList, EverySetOfCapacitiesCountsTheSame) {
  const Stream stream = mixed(3000, 8);
  const auto expected = oracle_distances(stream);
  for (const std::vector<uint64_t> &set :
       {std::vector<uint64_t>{1}, {2}, {1, 2}, {5, 6, 7, 8}, {1, 300}, {64, 64, 3}, {100000}}) {
    MarkerList list(set);
    feed(list, stream);
    for (uint64_t capacity : set)
      EXPECT_EQ(list.misses(capacity), static_cast<double>(oracle_misses(expected, capacity)));
  }
}

TEST(MarkerList, AgreesWithTheCounterOnALongStream) {
  const Stream stream = zipf(20000, 0.8, 300000, 9, 3);
  MarkerList list({16, 512, 4096, 30000});
  DistanceCounter counter;
  feed(list, stream);
  feed(counter, stream);
  for (uint64_t capacity : {16, 512, 4096, 30000})
    EXPECT_EQ(list.misses(capacity), counter.misses(capacity)) << capacity;
}

// Long enough that moments are numbered anew many times. Some capacities are reached early, some
// late, some never.
TEST(MarkerList, AgreesWithTheCounterWhenMomentsAreNumberedAnew) {
  for (const Stream &stream : {uniform(40000, 400000, 10), zipf(40000, 0.8, 400000, 11, 3),
                               zipf(3000, 0.6, 400000, 12, 40)}) {
    MarkerList list({1, 2, 700, 2999, 3000, 9000, 30000, 39999, 100000});
    DistanceCounter counter;
    feed(list, stream);
    feed(counter, stream);
    for (uint64_t capacity : {1, 2, 700, 2999, 3000, 9000, 30000, 39999, 100000})
      EXPECT_EQ(list.misses(capacity), counter.misses(capacity)) << capacity;
  }
}

// A marker is stored by its word of 64 moments.
TEST(MarkerList, CapacitiesAroundAWordCountTheSame) {
  std::vector<uint64_t> all;
  for (uint64_t capacity = 1; capacity <= 250; capacity++)
    all.push_back(capacity);
  for (uint64_t pages : {1, 2, 62, 63, 64, 65, 127, 128, 129, 240, 250, 251, 400}) {
    const Stream stream = uniform(pages, 40000, static_cast<unsigned>(pages));
    MarkerList list(all), few({63, 64, 65});
    DistanceCounter counter;
    feed(list, stream);
    feed(few, stream);
    feed(counter, stream);
    for (uint64_t capacity : all)
      ASSERT_EQ(list.misses(capacity), counter.misses(capacity)) << pages << ", " << capacity;
    for (uint64_t capacity : {63, 64, 65})
      ASSERT_EQ(few.misses(capacity), counter.misses(capacity)) << pages << ", " << capacity;
  }
}

TEST(MarkerList, MemoryIsBoundedByTheLargestCapacity) {
  MarkerList list({64, 1024});
  Stream once;
  for (uint64_t i = 0; i < 1000000; i++)
    once.push_back(i * 977);
  list.access(once);
  EXPECT_EQ(list.misses(1024), 1000000);
  EXPECT_LE(list.memory_bytes(), (MarkerList::kLeastMoments + 1024) * 132 * 2 + (64 << 20));
}

TEST(MarkerList, RefusesCapacitiesThatMakeNoSense) {
  EXPECT_THROW(MarkerList({}), std::invalid_argument);
  EXPECT_THROW(MarkerList({0, 4}), std::invalid_argument);
  EXPECT_THROW(MarkerList({uint64_t{1} << 40}), std::invalid_argument);
  std::vector<uint64_t> many;
  for (uint64_t i = 1; i <= 251; i++)
    many.push_back(i);
  EXPECT_THROW(MarkerList{many}, std::invalid_argument);
  EXPECT_THROW(MarkerList({4}).misses(5), std::invalid_argument);
}

TEST(PageIndex, AgreesWithAMap) {
  PageIndex index;
  std::map<uint64_t, uint32_t> expected;
  std::mt19937_64 random(10);
  for (uint32_t i = 0; i < 60000; i++) {
    const uint64_t page = random() % 900 * (i % 3 == 0 ? 1 : 131071);
    if (random() % 3 == 0) {
      index.erase(page);
      expected.erase(page);
    } else {
      index.at(page) = i;
      expected[page] = i;
    }
    const uint64_t probe = random() % 900 * (i % 2 ? 1 : 131071);
    const auto found = expected.find(probe);
    ASSERT_EQ(index.at(probe), found == expected.end() ? PageIndex::kAbsent : found->second) << i;
  }
}

} // namespace
