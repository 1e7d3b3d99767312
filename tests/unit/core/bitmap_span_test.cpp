// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/small/bitmap_span.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace smalloc {
namespace {

constexpr size_t kGranule = BitmapSpan::kGranuleBytes;

class BitmapSpanTest : public testing::Test {
protected:
  BitmapSpanTest() : memory_(std::aligned_alloc(BitmapSpan::kBytes, BitmapSpan::kBytes)) {
    std::memset(memory_, 0xff, BitmapSpan::kBytes); // jemalloc's memory may hold anything
    first_ = reinterpret_cast<char *>(span().init());
  }
  ~BitmapSpanTest() override { std::free(memory_); }
  BitmapSpan &span() { return *static_cast<BitmapSpan *>(memory_); }
  char *at(unsigned granule) { return first_ + granule * kGranule; }
  FreeRun *run_at(unsigned granule) { return reinterpret_cast<FreeRun *>(at(granule)); }
  /// Takes one object from the start of a run.
  FreeRun *take(unsigned granule, unsigned n) {
    return span().take(run_at(granule), BitmapSpan::length_of(run_at(granule)), n, 1);
  }
  void *memory_;
  char *first_;
};

TEST_F(BitmapSpanTest, AnEmptySpanIsOneRun) {
  EXPECT_TRUE(span().is_empty());
  EXPECT_EQ(BitmapSpan::length_of(run_at(0)), span().free_granules());
  EXPECT_EQ(first_ + span().free_granules() * kGranule,
            static_cast<char *>(memory_) + BitmapSpan::kBytes);
  unsigned from = 0, length = 0;
  EXPECT_EQ(span().next_run(from, length), run_at(0));
  EXPECT_EQ(length, span().free_granules());
  span().next_run(from, length);
  EXPECT_EQ(length, 0u);
}

TEST_F(BitmapSpanTest, ObjectsHaveTheirSizesAndNoHeader) {
  EXPECT_EQ(span().take(run_at(0), span().free_granules(), 7, 3), run_at(21));
  take(21, 200);
  for (unsigned k = 0; k < 3; k++) {
    EXPECT_EQ(BitmapSpan::of(at(7 * k)), &span());
    EXPECT_EQ(span().granules_of(at(7 * k)), 7u);
    EXPECT_TRUE(span().starts_object(at(7 * k)));
    EXPECT_FALSE(span().starts_object(at(7 * k + 1)));
  }
  EXPECT_EQ(span().granules_of(at(21)), 200u);
  EXPECT_FALSE(span().starts_object(at(221)));
  EXPECT_FALSE(span().starts_object(memory_));
}

TEST_F(BitmapSpanTest, RunsOfEveryLengthAreFoundFromBothSides) {
  for (unsigned length : {1u, 2u, 3u, 63u, 64u, 65u, 500u}) {
    span().init();
    take(0, 5);
    take(5, length);
    take(5 + length, 5);
    span().free_object(at(5), length);
    EXPECT_EQ(span().run_at(at(5)), nullptr); // not listed yet
    EXPECT_EQ(span().run_before(at(5 + length)), nullptr);
    FreeRun *run = span().list_run(at(5), length);
    EXPECT_EQ(span().run_at(at(5)), run);
    EXPECT_EQ(span().run_before(at(5 + length)), run);
    EXPECT_EQ(BitmapSpan::length_of(run), length);
  }
}

TEST_F(BitmapSpanTest, FreedGranulesAreFoundUntilTheyAreListed) {
  // Freed: 3..10 of two objects, and 20..25 beside the run from 26 on.
  for (unsigned k : {0u, 3u, 7u, 11u})
    take(k, k == 3 || k == 7 ? 4 : k == 11 ? 9 : 3);
  take(20, 6);
  span().free_object(at(3), 4);
  span().free_object(at(7), 4);
  span().free_object(at(20), 6);
  unsigned from = 0, length = 0;
  EXPECT_EQ(span().next_unlisted(from, length), at(3));
  EXPECT_EQ(length, 8u);
  EXPECT_EQ(span().next_unlisted(from, length), at(20));
  EXPECT_EQ(length, 6u);
  span().next_unlisted(from, length);
  EXPECT_EQ(length, 0u);
  FreeRun *listed = span().list_run(at(3), 8);
  EXPECT_EQ(BitmapSpan::length_of(listed), 8u);
  from = 0;
  EXPECT_EQ(span().next_run(from, length), listed);
  EXPECT_EQ(length, 8u);
  EXPECT_EQ(span().next_run(from, length), run_at(26)); // 20..25 are not in it
  EXPECT_EQ(length, span().free_granules() - 14);
}

TEST_F(BitmapSpanTest, NoRunIsBehindTheLastGranule) {
  const unsigned all = span().free_granules();
  EXPECT_EQ(take(0, all - 1), run_at(all - 1));
  EXPECT_EQ(BitmapSpan::length_of(run_at(all - 1)), 1u);
  EXPECT_EQ(take(all - 1, 1), nullptr);
  EXPECT_EQ(span().run_at(at(all)), nullptr);
  EXPECT_EQ(span().granules_of(at(all - 1)), 1u);
  unsigned from = 0, length = 0;
  span().next_run(from, length);
  EXPECT_EQ(length, 0u);
}

TEST_F(BitmapSpanTest, AMovedEndChangesOneObjectOnly) {
  take(0, 4);
  take(4, 196);
  take(200, 4);
  const unsigned free = span().free_granules();
  span().join_objects(at(0), 4);
  EXPECT_EQ(span().granules_of(at(0)), 200u);
  EXPECT_EQ(span().free_granules(), free);
  span().free_end(at(0), 200, 1);
  EXPECT_EQ(span().granules_of(at(0)), 1u);
  EXPECT_EQ(span().granules_of(at(200)), 4u);
  EXPECT_EQ(span().free_granules(), free + 199);
  unsigned from = 0, length = 0;
  EXPECT_EQ(span().next_unlisted(from, length), at(1));
  EXPECT_EQ(length, 199u);
}

// Against one byte per granule: sizes, starts, the number of free granules, and which of them are
// in no listed run.
TEST_F(BitmapSpanTest, RandomUseAgreesWithAModel) {
  std::mt19937 random(7);
  const unsigned all = span().free_granules();
  enum State : char { kUsed, kUnlisted, kListed };
  std::vector<unsigned> object(all, 0); // at its start: its granules
  std::vector<State> state(all, kListed);
  unsigned free = all, objects = 0;
  const auto list_all = [&] {
    for (unsigned from = 0, length;;) {
      char *p = static_cast<char *>(span().next_unlisted(from, length));
      if (!length)
        break;
      const auto g = static_cast<unsigned>((p - first_) / kGranule);
      for (unsigned k = g; k < g + length; k++)
        ASSERT_EQ(state[k], kUnlisted);
      unsigned start = g, end = g + length;
      if (FreeRun *after = span().run_at(at(end)))
        end += BitmapSpan::length_of(after);
      if (FreeRun *before = span().run_before(at(start)))
        start -= BitmapSpan::length_of(before);
      span().list_run(at(start), end - start);
      std::fill(state.begin() + start, state.begin() + end, kListed);
    }
    ASSERT_EQ(std::count(state.begin(), state.end(), kUnlisted), 0);
  };
  for (unsigned step = 0; step < 50000; step++) {
    if (step % 97 == 0)
      list_all();
    unsigned g = random() % all;
    const unsigned n = 1 + random() % (step % 5 ? 20 : 300);
    while (state[g] == kListed && g > 0 && state[g - 1] == kListed)
      g--; // the run's start
    if (object[g]) {
      ASSERT_TRUE(span().starts_object(at(g)));
      ASSERT_EQ(span().granules_of(at(g)), object[g]);
      std::fill_n(state.begin() + g, object[g], kUnlisted);
      free += object[g];
      span().free_object(at(g), object[g]);
      object[g] = 0;
    } else if (state[g] == kListed && BitmapSpan::length_of(run_at(g)) >= n) {
      objects++;
      FreeRun *rest = span().take(run_at(g), BitmapSpan::length_of(run_at(g)), n, 1);
      ASSERT_EQ(rest != nullptr, g + n < all && state[g + n] == kListed);
      std::fill_n(state.begin() + g, n, kUsed);
      object[g] = n;
      free -= n;
    } else {
      ASSERT_FALSE(span().starts_object(at(g)));
    }
    ASSERT_EQ(span().free_granules(), free);
  }
  EXPECT_GT(objects, 3000u);
}

} // namespace
} // namespace smalloc
