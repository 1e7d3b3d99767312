// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/small/bitmap_span.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <vector>

namespace smalloc {
namespace {

class BitmapSpanTest : public testing::Test {
protected:
  BitmapSpanTest() : memory_(std::aligned_alloc(BitmapSpan::kBytes, BitmapSpan::kBytes)) {
    std::memset(memory_, 0xff, BitmapSpan::kBytes); // jemalloc's memory may hold anything
    span().init();
  }
  ~BitmapSpanTest() override { std::free(memory_); }
  BitmapSpan &span() { return *static_cast<BitmapSpan *>(memory_); }
  char *take_one(unsigned n) {
    void *p = nullptr;
    return span().take(n, 1, &p) ? static_cast<char *>(p) : nullptr;
  }
  void *memory_;
};

TEST_F(BitmapSpanTest, ObjectsOfABatchAreNeighboursInOrder) {
  void *objects[8];
  ASSERT_EQ(span().take(7, 8, objects), 8u);
  for (unsigned k = 0; k < 8; k++) {
    EXPECT_EQ(BitmapSpan::of(objects[k]), &span());
    EXPECT_EQ(span().granules_of(objects[k]), 7u);
    EXPECT_EQ(static_cast<char *>(objects[k]) - static_cast<char *>(objects[0]),
              static_cast<long>(k * 7 * BitmapSpan::kGranuleBytes));
  }
}

TEST_F(BitmapSpanTest, FreedNeighboursServeALargerObject) {
  std::vector<void *> objects;
  while (char *p = take_one(100))
    objects.push_back(p);
  ASSERT_GT(objects.size(), 100u);
  EXPECT_EQ(take_one(150), nullptr);
  ASSERT_TRUE(span().give(objects[10]));
  ASSERT_TRUE(span().give(objects[12]));
  ASSERT_TRUE(span().give(objects[11])); // joins both
  EXPECT_EQ(take_one(300), objects[10]);
}

TEST_F(BitmapSpanTest, AnObjectThatIsNotLiveIsRefused) {
  char *p = take_one(4);
  ASSERT_NE(p, nullptr);
  EXPECT_FALSE(span().give(p + BitmapSpan::kGranuleBytes)); // inside
  EXPECT_FALSE(span().give(&span()));                       // the header
  EXPECT_TRUE(span().give(p));
  EXPECT_FALSE(span().give(p)); // freed before
  EXPECT_TRUE(span().is_empty());
}

TEST_F(BitmapSpanTest, AFullSpanIsSearchedAgainOnceEnoughIsFree) {
  std::vector<void *> objects;
  while (char *p = take_one(4))
    objects.push_back(p);
  EXPECT_LT(span().longest(), 4u);
  ASSERT_TRUE(span().give(objects[0]));
  EXPECT_LT(span().longest(), 4u);
  for (unsigned k = 1; k * 4 < BitmapSpan::kWorthASearch; k++)
    ASSERT_TRUE(span().give(objects[2 * k]));
  EXPECT_GE(span().longest(), 4u);
  EXPECT_NE(take_one(4), nullptr);
}

TEST_F(BitmapSpanTest, AnObjectGrowsOverFreeGranulesOnly) {
  char *a = take_one(4), *b = take_one(4), *c = take_one(4);
  EXPECT_FALSE(span().resize(a, 5));
  ASSERT_TRUE(span().give(b));
  EXPECT_FALSE(span().resize(a, 9));
  EXPECT_TRUE(span().resize(a, 8));
  EXPECT_EQ(span().granules_of(a), 8u);
  EXPECT_FALSE(span().give(b));
  EXPECT_TRUE(span().resize(a, 1));
  EXPECT_EQ(span().granules_of(a), 1u);
  EXPECT_EQ(span().granules_of(c), 4u);
  EXPECT_TRUE(span().give(a));
  EXPECT_TRUE(span().give(c));
  EXPECT_TRUE(span().is_empty());
}

TEST_F(BitmapSpanTest, TheLastObjectDoesNotGrowBeyondTheSpan) {
  std::vector<char *> objects;
  while (char *p = take_one(1))
    objects.push_back(p);
  char *last = objects.back();
  EXPECT_EQ(last + BitmapSpan::kGranuleBytes, static_cast<char *>(memory_) + BitmapSpan::kBytes);
  EXPECT_FALSE(span().resize(last, 2));
}

// Against a map of the live objects: none overlap, the sizes stay, and the sums agree.
TEST_F(BitmapSpanTest, RandomUseAgreesWithAModel) {
  std::mt19937 random(7);
  std::map<char *, unsigned> live;
  const unsigned all = span().free_granules();
  unsigned used = 0;
  const auto insert = [&](char *p, unsigned n) {
    auto after = live.lower_bound(p);
    ASSERT_TRUE(after == live.end() || p + n * BitmapSpan::kGranuleBytes <= after->first);
    if (after != live.begin()) {
      const auto before = std::prev(after);
      ASSERT_LE(before->first + before->second * BitmapSpan::kGranuleBytes, p);
    }
    live[p] = n;
    used += n;
  };
  for (unsigned step = 0; step < 200000; step++) {
    const unsigned longest = step / 20000 % 2 ? 300 : 20; // sizes drift
    if (random() % 100 < (used > all * 3 / 4 ? 40 : 55)) {
      void *objects[16];
      const unsigned n = 1 + random() % longest, most = 1 + random() % 16,
                     taken = span().take(n, most, objects);
      for (unsigned k = 0; k < taken; k++)
        insert(static_cast<char *>(objects[k]), n);
    } else if (!live.empty()) {
      auto chosen = live.lower_bound(static_cast<char *>(memory_) + random() % BitmapSpan::kBytes);
      if (chosen == live.end())
        chosen = live.begin();
      ASSERT_EQ(span().granules_of(chosen->first), chosen->second);
      const unsigned n = 1 + random() % longest;
      if (random() % 4 == 0 && span().resize(chosen->first, n)) {
        used += n - chosen->second;
        chosen->second = n;
      } else {
        ASSERT_TRUE(span().give(chosen->first));
        used -= chosen->second;
        live.erase(chosen);
      }
    }
    ASSERT_EQ(span().free_granules(), all - used);
  }
  for (const auto &[p, n] : live)
    ASSERT_TRUE(span().give(p));
  EXPECT_TRUE(span().is_empty());
  EXPECT_GE(span().longest(), all);
}

} // namespace
} // namespace smalloc
