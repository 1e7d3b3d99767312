// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// unit_ranking_test.cpp tests the search for the unit with the fewest used pages against a search
// of all units.
#include "smalloc/pages/unit_ranking.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace smalloc {
namespace {
TEST(UnitRanking, RandomUseAgainstASearch) {
  constexpr UnitIndex kUnits = 40;
  std::vector<UnitRanking::Links> links(kUnits);
  std::vector<unsigned> pages(kUnits);
  UnitRanking ranking;
  ranking.init(links.data());
  EXPECT_EQ(ranking.fewest(), kNoUnit);
  std::mt19937 random(5);
  for (int step = 0; step < 20000; step++) {
    UnitIndex unit = random() % kUnits;
    pages[unit] = random() % 3 ? 0 : random() % 2 ? 1 + random() % kPagesPerUnit : 1 + random() % 3;
    ranking.set(unit, pages[unit]);
    unsigned fewest = UINT_MAX;
    for (UnitIndex u = 0; u < kUnits; u++) {
      ASSERT_EQ(ranking.pages(u), pages[u]);
      if (pages[u])
        fewest = std::min(fewest, pages[u]);
    }
    if (fewest == UINT_MAX)
      ASSERT_EQ(ranking.fewest(), kNoUnit) << step;
    else
      ASSERT_EQ(pages[ranking.fewest()], fewest) << step;
  }
  for (UnitIndex u = 0; u < kUnits; u++)
    ranking.set(u, 0);
  EXPECT_EQ(ranking.fewest(), kNoUnit);
}
TEST(UnitRanking, FullOnesAreRankedLast) {
  std::vector<UnitRanking::Links> links(2);
  UnitRanking ranking;
  ranking.init(links.data());
  ranking.set(0, kPagesPerUnit);
  EXPECT_EQ(ranking.fewest(), 0u);
  ranking.set(1, kPagesPerUnit - 1);
  EXPECT_EQ(ranking.fewest(), 1u);
}
} // namespace
} // namespace smalloc
