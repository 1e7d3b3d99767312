// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// level_search_test.cpp tests the search on exactly known latencies: the misses of packed lines on
// their own pages, and a single wrong latency.
#include "runtime/measure/level_search.h"

#include <algorithm>
#include <functional>
#include <map>

#include <gtest/gtest.h>

namespace smalloc::calibrate {
namespace {

// A source without noise: `cycles` gives the latency of each chase.
class Answers : public LatencySource {
public:
  explicit Answers(std::function<double(const Chase &)> cycles) : cycles_(std::move(cycles)) {}
  std::optional<Latency> chase(const Chase &chase) override { return Latency{cycles_(chase), 1}; }
  uint64_t max_lines(uint64_t, uint64_t) const override { return 1 << 20; }
  uint64_t base_page_bytes() const override { return base_page_bytes_; }
  uint64_t base_page_bytes_ = 4096;

private:
  std::function<double(const Chase &)> cycles_;
};

double translation(Answers &source, uint64_t lines, std::vector<FoundLevel> levels) {
  Chase chase;
  chase.lines = lines;
  std::vector<double> noise;
  return translation_cycles(source, chase, levels, noise).value_or(-1);
}

// 16384 packed lines fill 256 pages of 4 KiB; a level of 64 entries keeps a quarter.
TEST(LevelSearch, PackedLinesPayForTheirOwnPages) {
  Answers source([](const Chase &chase) { return chase.dense ? 12 : 40; });
  EXPECT_DOUBLE_EQ(translation(source, 16384, {}), 28);
  EXPECT_DOUBLE_EQ(translation(source, 16384, {{64, 8}}), 28 + 0.75 * 8);
  // A miss of both levels has already paid for the first.
  EXPECT_DOUBLE_EQ(translation(source, 16384, {{64, 8}, {128, 28}}), 28 + 0.75 * 8 + 0.5 * 20);
  // With as many entries as pages nothing misses; more entries bring no gain.
  EXPECT_DOUBLE_EQ(translation(source, 16384, {{256, 8}}), 28);
  EXPECT_DOUBLE_EQ(translation(source, 16384, {{1024, 8}}), 28);
  source.base_page_bytes_ = 65536; // then the lines fill 16 pages
  EXPECT_DOUBLE_EQ(translation(source, 16384, {{64, 8}}), 28);
  EXPECT_DOUBLE_EQ(translation(source, 16384, {{8, 8}}), 28 + 0.5 * 8);
}

// The first level is so small that the baseline misses it long before the second one is full.
TEST(LevelSearch, TheBaselinesMissesAreNoPartOfALevel) {
  const auto spread = [](double pages) { return pages <= 16 ? 0 : pages <= 2048 ? 8.0 : 40.0; };
  const auto packed = [](double pages) {
    return pages <= 16 ? 0 : 8 * (1 - 16 / pages); // in random order
  };
  Answers source([&](const Chase &chase) {
    const auto lines = static_cast<double>(chase.lines);
    return 4 + (chase.dense ? packed(lines / 64) : spread(lines));
  });
  std::vector<double> noise;
  const LevelSearch found = search_levels(source, {}, 8192, 1.06, noise);
  ASSERT_EQ(found.levels.size(), 2u);
  EXPECT_EQ(found.levels[0].entries, 16);
  EXPECT_NEAR(found.levels[0].cycles_beyond, 8, 0.3);
  EXPECT_NEAR(found.levels[1].entries, 2048, 8);
  // The plateau of the first level is slightly too low, because its end falls and the smoothed
  // curve never does.
  EXPECT_NEAR(found.levels[1].cycles_beyond, 40, 0.3);
  for (const Point &point : found.curve)
    EXPECT_NEAR(point.cycles, spread(static_cast<double>(point.pages)), 0.3) << point.pages;
}

// The first page count that a bisection measures is wrong in all three chases of that measurement.
// Both ends are then measured again, and the second bisection is right.
TEST(LevelSearch, AWrongAnswerIsAskedAgain) {
  constexpr double kRatio = 1.5;
  for (const uint64_t entries : {60, 64, 65, 70, 74}) {
    uint64_t below = 0, above = 0;
    for (const uint64_t pages : page_grid(8, 1024, kRatio)) {
      if (pages <= entries)
        below = pages;
      else if (!above)
        above = pages;
    }
    const uint64_t middle = below + (above - below) / 2;
    unsigned asked = 0;
    Answers source([&](const Chase &chase) {
      bool misses = chase.lines > entries;
      if (chase.lines == middle && !chase.dense && asked++ < 3)
        misses = !misses;
      return chase.dense ? 4 : misses ? 12 : 4;
    });
    std::vector<double> noise;
    const LevelSearch found = search_levels(source, {}, 1024, kRatio, noise);
    ASSERT_FALSE(found.levels.empty()) << entries;
    EXPECT_EQ(found.levels[0].entries, static_cast<double>(entries)) << "asked " << middle;
    EXPECT_GT(asked, 3u) << entries; // both ends of the first bisection were measured again
  }
}

// A count whose latency is never reliable is not measured for ever.
TEST(LevelSearch, AnswersThatNeverAgreeEndTheSearch) {
  std::map<uint64_t, unsigned> asked;
  const std::vector<uint64_t> grid = page_grid(8, 1024, 1.5);
  Answers source([&](const Chase &chase) {
    bool misses = chase.lines > 64;
    // Off the coarse curve each measurement contradicts the one before.
    if (!chase.dense && std::find(grid.begin(), grid.end(), chase.lines) == grid.end())
      misses = asked[chase.lines]++ / 3 % 2;
    return chase.dense ? 4 : misses ? 12 : 4;
  });
  std::vector<double> noise;
  const LevelSearch found = search_levels(source, {}, 1024, 1.5, noise);
  ASSERT_FALSE(found.levels.empty());
  for (const auto &[lines, times] : asked)
    EXPECT_LE(times, 2 * 3 * 3u) << lines; // three bisections, each with one repeat, of three
                                           // chases
}

} // namespace
} // namespace smalloc::calibrate
