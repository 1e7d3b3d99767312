// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// unit_map_test.cpp tests the bitmap against a simple model, operation by operation.
#include "smalloc/pages/unit_map.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace smalloc {
namespace {
struct Model {
  std::vector<bool> taken;
  uint64_t phase;
  UnitIndex first_fit(UnitIndex count, UnitIndex alignment) const {
    for (UnitIndex at = 0; at + count <= taken.size(); at++) {
      if ((at + phase) % alignment)
        continue;
      UnitIndex n = 0;
      while (n < count && !taken[at + n])
        n++;
      if (n == count)
        return at;
    }
    return kNoUnit;
  }
  void set(UnitIndex first, UnitIndex count, bool on) {
    for (UnitIndex i = 0; i < count; i++)
      taken[first + i] = on;
  }
};

void run(UnitIndex units, unsigned seed, uint64_t phase) {
  std::vector<uint64_t> words((units + 63) / 64);
  UnitMap map;
  map.init(words.data(), units, phase);
  Model model{std::vector<bool>(units), phase};
  std::vector<std::pair<UnitIndex, UnitIndex>> live;
  std::mt19937 random(seed);
  for (int step = 0; step < 4000; step++) {
    unsigned what = random() % 10;
    if (what < 5) {
      UnitIndex count = 1 + random() % (random() % 8 ? 6 : 90),
                alignment = random() % 6 ? 1 : 1u << random() % 6;
      UnitIndex got = map.take(count, alignment);
      ASSERT_EQ(got, model.first_fit(count, alignment)) << step;
      if (got != kNoUnit) {
        model.set(got, count, true);
        live.emplace_back(got, count);
      }
    } else if (what < 6) {
      UnitIndex first = random() % units, count = 1 + random() % 5;
      bool free = first + count <= units;
      for (UnitIndex i = 0; free && i < count; i++)
        free = !model.taken[first + i];
      ASSERT_EQ(map.take_at(first, count), free) << step;
      if (free) {
        model.set(first, count, true);
        live.emplace_back(first, count);
      }
    } else if (!live.empty()) {
      size_t i = random() % live.size();
      map.give_back(live[i].first, live[i].second);
      model.set(live[i].first, live[i].second, false);
      live[i] = live.back();
      live.pop_back();
    }
    ASSERT_TRUE(map.check_invariants()) << step;
  }
  for (auto [first, count] : live)
    map.give_back(first, count);
  EXPECT_EQ(map.used(), 0u);
  EXPECT_EQ(map.high_water(), 0u);
}
TEST(UnitMap, RandomOperationsAgainstAModel) {
  run(64, 1, 0);
  run(65, 2, 3);
  run(500, 3, 0);
  run(1000, 4, 17);
}
TEST(UnitMap, EndsEarlierButNotBelowWhatIsTaken) {
  std::vector<uint64_t> words(16);
  UnitMap map;
  map.init(words.data(), 1000);
  ASSERT_EQ(map.take(300), 0u);
  EXPECT_EQ(map.end_at(400), 400u);
  EXPECT_EQ(map.take(101), kNoUnit);
  EXPECT_FALSE(map.take_at(399, 2));
  EXPECT_EQ(map.end_at(700), 400u); // for good
  EXPECT_EQ(map.end_at(100), 300u);
  EXPECT_EQ(map.take(1), kNoUnit);
  map.give_back(0, 300);
  EXPECT_EQ(map.take(300), 0u);
  EXPECT_TRUE(map.check_invariants());
}
TEST(UnitMap, Edges) {
  uint64_t words[2] = {};
  UnitMap map;
  map.init(words, 100);
  EXPECT_EQ(map.take(101), kNoUnit);
  EXPECT_EQ(map.take(100), 0u);
  EXPECT_EQ(map.take(1), kNoUnit);
  EXPECT_FALSE(map.take_at(99, 1));
  EXPECT_FALSE(map.take_at(100, 1));
  EXPECT_FALSE(map.is_taken(100));
}
} // namespace
} // namespace smalloc
