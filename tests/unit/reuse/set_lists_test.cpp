// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reuse/distance_counter.h"
#include "runtime/reuse/set_lists.h"
#include "tests/unit/reuse/streams.h"

#include <gtest/gtest.h>

#include <stdexcept>

using namespace smalloc::reuse;

namespace {

double misses(const Stream &stream, uint64_t entries, uint64_t ways, unsigned shift = 0) {
  SetLists lists(entries, ways, shift);
  lists.access(stream);
  return lists.misses();
}

TEST(SetLists, OneSetIsFullyAssociative) {
  const Stream stream = zipf(300, 0.8, 20000, 1);
  DistanceCounter counter;
  counter.access(stream);
  EXPECT_EQ(misses(stream, 64, 64), counter.misses(64));
  EXPECT_EQ(misses(stream, 7, 7), counter.misses(7));
}

// Each set holds only its own pages: there are as many fully associative lists as sets.
TEST(SetLists, EachSetIsAListOfItsOwn) {
  for (const Stream &stream :
       {zipf(3000, 0.8, 50000, 2), uniform(700, 50000, 3), cycle(600, 50000)})
    for (auto [entries, ways] : {std::pair<uint64_t, uint64_t>{512, 4}, {192, 6}, {64, 1}}) {
      double sum = 0;
      for (uint64_t set = 0; set < entries / ways; set++) {
        Stream mine;
        for (uint64_t page : stream)
          if (page % (entries / ways) == set)
            mine.push_back(page);
        DistanceCounter counter;
        counter.access(mine);
        sum += counter.misses(ways);
      }
      EXPECT_EQ(misses(stream, entries, ways), sum) << entries << " entries, " << ways << " ways";
    }
}

TEST(SetLists, BitsBelowTheSetTellPagesApart) {
  // 2 and 3 are two pages of set 1 of 2: one way holds one of them.
  const Stream stream = {2, 3, 2, 3};
  EXPECT_EQ(misses(stream, 2, 1, 1), 4);
  EXPECT_EQ(misses(stream, 4, 2, 1), 2);
  EXPECT_EQ(misses(stream, 2, 1, 0), 2);
}

TEST(SetLists, TellsHitsOneByOne) {
  // 1 and 3 take turns in the only way of set 1; 2 has set 0 for itself.
  SetLists lists(2, 1);
  const std::pair<uint64_t, bool> uses[] = {{1, false}, {2, false}, {1, true}, {1, true},
                                            {3, false}, {1, false}, {2, true}};
  for (const auto &[page, hit] : uses)
    EXPECT_EQ(lists.hits(page), hit) << page;
  EXPECT_EQ(lists.misses(), 4);
}

TEST(SetLists, RefusesImpossibleShapes) {
  EXPECT_THROW(SetLists(0, 4), std::invalid_argument);
  EXPECT_THROW(SetLists(10, 4), std::invalid_argument);
  EXPECT_THROW(SetLists(4, 0), std::invalid_argument);
}

} // namespace
