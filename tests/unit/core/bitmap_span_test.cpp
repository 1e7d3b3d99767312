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

/// Lists the free granules in no listed run. Precondition: no listed run is beside them.
void list_free(BitmapSpan &span) {
  for (unsigned from = 0, length;;) {
    void *p = span.next_unlisted(from, length);
    if (!length)
      break;
    span.list_run(p, length);
  }
  span.all_listed();
}

class BitmapSpanTest : public testing::Test {
protected:
  /// Neighbouring spans keep their bits in different places.
  static constexpr size_t kSpans = 64;
  BitmapSpanTest()
      : memory_(static_cast<char *>(
            std::aligned_alloc(kSpans * BitmapSpan::kBytes, kSpans * BitmapSpan::kBytes))) {
    std::memset(memory_, 0xff, kSpans * BitmapSpan::kBytes); // jemalloc's memory may hold anything
    size_t k = 0;                                            // a span whose bits lie at its start
    while (reinterpret_cast<char *>(&span(k)) != memory_ + k * BitmapSpan::kBytes)
      k++;
    use(k);
    unsigned from = 0, length = 0;
    first_ = reinterpret_cast<char *>(span().next_run(from, length));
  }
  ~BitmapSpanTest() override { std::free(memory_); }
  BitmapSpan &span(size_t k) { return *BitmapSpan::of(memory_ + k * BitmapSpan::kBytes); }
  BitmapSpan &span() { return span(index_); }
  void use(size_t k) {
    index_ = k;
    span().init();
    list_free(span());
    first_ = span().start();
  }
  char *at(unsigned granule) { return first_ + granule * kGranule; }
  FreeRun *run_at(unsigned granule) { return reinterpret_cast<FreeRun *>(at(granule)); }
  /// Takes one object from the start of a run.
  FreeRun *take(unsigned granule, unsigned n) {
    return span().take(run_at(granule), BitmapSpan::length_of(run_at(granule)), n, 1);
  }
  char *memory_;
  size_t index_ = 0;
  char *first_ = nullptr;
};

TEST_F(BitmapSpanTest, KnowsWhereObjectsCrossTheFewestLines) {
  const auto before = [&](unsigned granule, unsigned n) {
    return BitmapSpan::before_aligned(reinterpret_cast<FreeRun *>(memory_ + granule * kGranule), n);
  };
  for (unsigned granule = 0; granule < 64; granule++)
    for (const unsigned odd : {1u, 3u, 5u, 33u}) {
      EXPECT_EQ(before(granule, odd), 0u);
      EXPECT_EQ((granule + before(granule, 2 * odd)) % 2, 0u);
      EXPECT_LT(before(granule, 2 * odd), 2u);
      for (const unsigned lines : {4u, 8u, 64u}) {
        EXPECT_EQ((granule + before(granule, lines * odd)) % 4, 0u);
        EXPECT_LT(before(granule, lines * odd), 4u);
      }
    }
}

TEST_F(BitmapSpanTest, AnEmptySpanIsOneRun) {
  EXPECT_TRUE(span().is_empty());
  EXPECT_EQ(BitmapSpan::length_of(run_at(0)), span().free_granules());
  EXPECT_EQ(first_ + span().free_granules() * kGranule, span().start() + BitmapSpan::kBytes);
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
  EXPECT_FALSE(span().starts_object(&span()));
}

TEST_F(BitmapSpanTest, RunsOfEveryLengthAreFoundFromBothSides) {
  for (unsigned length : {1u, 2u, 3u, 63u, 64u, 65u, 500u}) {
    span().init();
    list_free(span());
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

TEST_F(BitmapSpanTest, BitsOfNeighboursLieInDifferentSets) {
  constexpr size_t kPage = 4096, kPages = 32;
  std::vector<unsigned> spans(kPages);
  for (size_t k = index_; k < index_ + kPages; k++) {
    const auto offset = static_cast<size_t>(reinterpret_cast<char *>(&span(k)) - span(k).start());
    ASSERT_EQ(offset % kPage, 0u);
    spans[offset / kPage % kPages]++;
  }
  EXPECT_EQ(spans, std::vector<unsigned>(kPages, 1));
}

TEST_F(BitmapSpanTest, ObjectsLieOnBothSidesOfTheBits) {
  const unsigned all = span().free_granules();
  use(index_ + 3);
  EXPECT_EQ(span().free_granules(), all);
  auto *bits = reinterpret_cast<char *>(&span());
  const unsigned front = BitmapSpan::length_of(run_at(0));
  ASSERT_EQ(at(front), bits);
  EXPECT_EQ(span().run_at(bits), nullptr);
  EXPECT_EQ(span().run_before(at(0)), nullptr);
  unsigned from = 0, length = 0;
  span().next_run(from, length);
  FreeRun *behind = span().next_run(from, length);
  EXPECT_EQ(front + length, all);
  EXPECT_EQ(span().run_before(behind), nullptr);
  EXPECT_EQ(take(0, front), nullptr);
  span().take(behind, length, 3, 1);
  EXPECT_EQ(span().granules_of(at(0)), front);
  EXPECT_EQ(span().granules_of(behind), 3u);
  EXPECT_TRUE(span().starts_object(at(0)));
  EXPECT_TRUE(span().starts_object(behind));
  for (char *p = bits; p < reinterpret_cast<char *>(behind); p += kGranule)
    ASSERT_FALSE(span().starts_object(p));
  span().free_object(at(0), front);
  span().free_object(behind, 3);
  EXPECT_TRUE(span().is_empty());
}

TEST_F(BitmapSpanTest, AnObjectsSizeIsFoundAcrossWords) {
  const size_t k = index_ + 31;
  for (unsigned n : {1u, 2u, 63u, 64u, 65u, 128u, 129u, 512u})
    for (unsigned g = 0; g <= 64; g++) {
      use(k);
      if (g)
        span().take(run_at(0), BitmapSpan::length_of(run_at(0)), 1, g);
      span().take(run_at(g), BitmapSpan::length_of(run_at(g)), n, 2);
      ASSERT_EQ(span().granules_of(at(g)), n) << "at granule " << g;
      ASSERT_EQ(span().granules_of(at(g + n)), n) << "at granule " << g + n;
    }
}

// Against one byte per granule: sizes, starts, the number of free granules, and which of them are
// in no listed run.
TEST_F(BitmapSpanTest, RandomUseAgreesWithAModel) {
  std::mt19937 random(7);
  use(index_ + 31);
  const unsigned all = BitmapSpan::length_of(run_at(0)), elsewhere = span().free_granules() - all;
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
    ASSERT_EQ(span().free_granules(), free + elsewhere);
  }
  EXPECT_GT(objects, 3000u);
}

} // namespace
} // namespace smalloc
