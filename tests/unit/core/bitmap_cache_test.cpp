// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/small/bitmap_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <vector>

namespace smalloc {
namespace {

class BitmapCacheTest : public testing::Test {
protected:
  BitmapCacheTest() {
    std::memset(static_cast<void *>(&cache_), 0, sizeof cache_); // as the heap allocates it
    cache_.set_limit(UINT32_MAX);
  }
  ~BitmapCacheTest() override {
    while (void *block = cache_.remove_block()) {
      std::free(block);
      blocks_--;
    }
    EXPECT_EQ(blocks_, 0u);
  }
  /// Returns an address that is never read or written.
  static void *object(size_t k) { return reinterpret_cast<void *>(16 * (k + 1)); }
  void add(unsigned n, size_t k) {
    if (cache_.add(n, object(k)))
      return;
    cache_.add_block(std::aligned_alloc(BitmapCache::kChunkBytes, BitmapCache::kBlockBytes));
    blocks_++;
    ASSERT_TRUE(cache_.add(n, object(k)));
  }
  BitmapCache cache_;
  size_t blocks_ = 0;
};

TEST_F(BitmapCacheTest, TheLatestObjectOfASizeComesFirst) {
  // More than a block has room for.
  constexpr size_t kObjects = 1000;
  for (size_t k = 0; k < kObjects; k++)
    add(1 + k % 2 * 511, k);
  EXPECT_GE(blocks_, 2u);
  for (size_t k = kObjects; k-- > 0;)
    ASSERT_EQ(cache_.pop(1 + k % 2 * 511), object(k));
  for (unsigned n : {1u, 2u, 512u})
    EXPECT_EQ(cache_.pop(n), nullptr);
}

TEST_F(BitmapCacheTest, EveryDepthMayBeTheTurningPoint) {
  std::vector<size_t> stack;
  for (size_t depth = 1; depth < 300; depth++) {
    for (size_t k = 0; k < depth; k++) {
      stack.push_back(1000 * depth + k);
      add(3, stack.back());
    }
    for (size_t k = 0; k < depth / 2 || (depth % 9 == 0 && !stack.empty()); k++) {
      ASSERT_EQ(cache_.pop(3), object(stack.back()));
      stack.pop_back();
    }
  }
  while (!stack.empty()) {
    ASSERT_EQ(cache_.pop(3), object(stack.back()));
    stack.pop_back();
  }
  EXPECT_EQ(cache_.pop(3), nullptr);
}

TEST_F(BitmapCacheTest, AnObjectOfUpToASixteenthMoreServesARequest) {
  add(34, 0);
  add(35, 1);
  add(16, 2);
  EXPECT_EQ(cache_.pop_about(32), object(0)); // 35 is more than 32 + 2
  EXPECT_EQ(cache_.pop_about(32), nullptr);
  EXPECT_EQ(cache_.pop_about(15), nullptr);
  EXPECT_EQ(cache_.pop_about(35), object(1)); // its own size
  add(512, 3);
  EXPECT_EQ(cache_.pop_about(500), object(3));
  EXPECT_EQ(cache_.pop_about(512), nullptr); // no larger size
  EXPECT_EQ(cache_.pop_about(16), object(2));
  EXPECT_EQ(cache_.charged(), 0u);
}

TEST_F(BitmapCacheTest, EmptiedChunksServeOtherSizes) {
  for (unsigned n = 1; n <= 20; n++) {
    for (size_t k = 0; k < 400; k++)
      add(n, k);
    while (cache_.pop(n))
      ;
    EXPECT_TRUE(cache_.has(n));
  }
  EXPECT_FALSE(cache_.has(21));
  // 20 stacks keep a chunk each; a block has seven, and a stack of 400 took another six.
  EXPECT_EQ(blocks_, 4u);
}

TEST_F(BitmapCacheTest, AStackThatBecomesEmptyKeepsAChunk) {
  add(5, 0);
  EXPECT_EQ(cache_.pop(5), object(0));
  EXPECT_EQ(cache_.pop(5), nullptr);
  EXPECT_TRUE(cache_.push_fast(5, object(1)));
  EXPECT_EQ(cache_.pop_fast(5), object(1));
}

TEST_F(BitmapCacheTest, AddressesCountForTheLimit) {
  cache_.set_limit(100);
  add(1, 0); // memory for addresses
  EXPECT_EQ(cache_.pop(1), object(0));
  unsigned objects = 0;
  while (!cache_.is_full(9)) {
    add(9, objects++);
    ASSERT_LE(objects, 11u);
  }
  EXPECT_EQ(objects, 10u); // 9 granules and one for the address
  EXPECT_TRUE(cache_.is_full(1));
  EXPECT_FALSE(cache_.push_fast(1, object(0)));
  EXPECT_NE(cache_.pop(9), nullptr);
  EXPECT_FALSE(cache_.is_full(9));
}

TEST_F(BitmapCacheTest, BatchesDoubleUpToAPage) {
  EXPECT_EQ(cache_.batch(2), 1u);
  for (int k = 0; k < 10; k++)
    cache_.double_batch(2);
  EXPECT_EQ(cache_.batch(2), 32u);
  cache_.halve_batch(2);
  EXPECT_EQ(cache_.batch(2), 16u);
  for (int k = 0; k < 10; k++)
    cache_.double_batch(100);
  EXPECT_EQ(cache_.batch(100), 2u); // 3,200 bytes
  cache_.double_batch(512);
  EXPECT_EQ(cache_.batch(512), 1u);
}

} // namespace
} // namespace smalloc
