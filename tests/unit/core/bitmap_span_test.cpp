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
  void *memory_;
  char *first_;
};

TEST_F(BitmapSpanTest, AnEmptySpanIsOneRun) {
  EXPECT_TRUE(span().is_empty());
  EXPECT_EQ(span().first_run(), static_cast<void *>(first_));
  EXPECT_EQ(BitmapSpan::length_of(span().first_run()), span().free_granules());
  EXPECT_EQ(first_ + span().free_granules() * kGranule,
            static_cast<char *>(memory_) + BitmapSpan::kBytes);
}

TEST_F(BitmapSpanTest, ObjectsHaveTheirSizesAndNoHeader) {
  span().mark_objects(at(0), 7, 3);
  span().mark_objects(at(21), 200, 1);
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
    span().mark_objects(at(0), 5, 1);
    span().mark_objects(at(5), length, 1);
    span().mark_objects(at(5 + length), 5, 1);
    EXPECT_EQ(span().run_at(at(5)), nullptr);
    EXPECT_EQ(span().run_before(at(5 + length)), nullptr);
    span().clear_object(at(5), length);
    FreeRun *run = BitmapSpan::write_run(at(5), length);
    EXPECT_EQ(span().run_at(at(5)), run);
    EXPECT_EQ(span().run_before(at(5 + length)), run);
    EXPECT_EQ(BitmapSpan::length_of(run), length);
  }
}

TEST_F(BitmapSpanTest, NoRunIsBehindTheLastGranule) {
  const unsigned all = span().free_granules();
  span().mark_objects(at(0), all - 1, 1);
  EXPECT_EQ(BitmapSpan::length_of(BitmapSpan::write_run(at(all - 1), 1)), 1u);
  span().mark_objects(at(all - 1), 1, 1);
  EXPECT_EQ(span().run_at(at(all)), nullptr);
  EXPECT_EQ(span().granules_of(at(all - 1)), 1u);
}

TEST_F(BitmapSpanTest, AMovedEndChangesOneObjectOnly) {
  span().mark_objects(at(0), 4, 1);
  span().mark_objects(at(200), 4, 1);
  const unsigned free = span().free_granules();
  span().move_end(at(0), 4, 200);
  EXPECT_EQ(span().granules_of(at(0)), 200u);
  EXPECT_EQ(span().free_granules(), free - 196);
  span().move_end(at(0), 200, 1);
  EXPECT_EQ(span().granules_of(at(0)), 1u);
  EXPECT_EQ(span().granules_of(at(200)), 4u);
  EXPECT_EQ(span().free_granules(), free + 3);
}

// Against one byte per granule: sizes, starts and the number of free granules agree.
TEST_F(BitmapSpanTest, RandomUseAgreesWithAModel) {
  std::mt19937 random(7);
  const unsigned all = span().free_granules();
  std::vector<unsigned> object(all, 0); // at its start: its granules
  std::vector<bool> used(all, false);
  unsigned free = all;
  for (unsigned step = 0; step < 50000; step++) {
    const unsigned g = random() % all, n = 1 + random() % (step % 5 ? 20 : 300);
    if (object[g]) {
      ASSERT_TRUE(span().starts_object(at(g)));
      ASSERT_EQ(span().granules_of(at(g)), object[g]);
      std::fill_n(used.begin() + g, object[g], false);
      free += object[g];
      span().clear_object(at(g), object[g]);
      object[g] = 0;
    } else if (!used[g] && g + n <= all &&
               std::find(used.begin() + g, used.begin() + g + n, true) == used.begin() + g + n) {
      std::fill_n(used.begin() + g, n, true);
      object[g] = n;
      free -= n;
      span().mark_objects(at(g), n, 1);
    } else {
      ASSERT_FALSE(span().starts_object(at(g)));
    }
    ASSERT_EQ(span().free_granules(), free);
  }
}

} // namespace
} // namespace smalloc
