// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// threads_test.cpp tests the tables of the heaps under several threads, with the kernel's real
// memory. All threads allocate, resize, promote, demote and release objects. Pages of small heaps
// are used and released while other threads collapse them. Mainly for ThreadSanitizer, which cannot
// run the libraries.
#include "smalloc/big/big_objects.h"
#include "smalloc/small/small_pages.h"

#include <atomic>
#include <gtest/gtest.h>
#include <random>
#include <thread>
#include <vector>

namespace smalloc {
namespace {
constexpr unsigned kThreads = 4;
constexpr size_t kMiB = size_t{1} << 20;

struct ThreadsTest : testing::Test {
  void SetUp() override {
    Region::Config config;
    config.os = &kLinux;
    config.bytes = size_t{4} << 30;
    config.budget.bytes = 24 * kSuperpageBytes;
    config.pending = &pending;
    ASSERT_TRUE(region.init(config, counters));
    PageFallback::Config page_fallback_config;
    page_fallback.init(kLinux, page_fallback_config, counters);
  }
  template <class Body> void all_threads(Body body) {
    std::vector<std::thread> threads;
    for (unsigned k = 0; k < kThreads; k++)
      threads.emplace_back([&, k] { body(k); });
    for (std::thread &t : threads)
      t.join();
  }
  unsigned pending = 0;
  Counters counters;
  Region region;
  PageFallback page_fallback;
  Price price;
};

struct Object {
  size_t bytes;
  unsigned value;
};
void stamp(Object *o, size_t bytes, unsigned value) {
  *o = {bytes, value};
  for (size_t i = sizeof *o; i < bytes; i += 64 << 10)
    reinterpret_cast<unsigned char *>(o)[i] = static_cast<unsigned char>(value);
}
bool holds(const Object *o, size_t bytes) {
  for (size_t i = sizeof *o; i < bytes; i += 64 << 10)
    if (reinterpret_cast<const unsigned char *>(o)[i] != static_cast<unsigned char>(o->value))
      return false;
  return true;
}

TEST_F(ThreadsTest, BigObjectsChangeHands) {
  BigObjects big;
  ASSERT_TRUE(big.init(region, page_fallback, {uint64_t{32} << 20, true}));
  std::atomic<Object *> slot[16] = {};
  std::atomic<unsigned> wrong{0}, made{0};
  all_threads([&](unsigned k) {
    std::mt19937 random(k);
    UnitIndex cursor = 0;
    for (unsigned turn = 0; turn < 400; turn++) {
      BigRequest request;
      request.bytes = 1 * kMiB + random() % (7 * kMiB);
      request.superpages_at_first_touch = random() % 3 == 0;
      auto *o = static_cast<Object *>(big.allocate(request));
      if (!o)
        continue;
      made++;
      stamp(o, request.bytes, turn);
      if (random() % 2) {
        size_t bytes = 1 * kMiB + random() % (9 * kMiB), had = o->bytes;
        if (auto *moved = static_cast<Object *>(big.resize(o, bytes))) {
          wrong += !holds(moved, min_of(had, bytes));
          stamp(moved, bytes, turn);
          o = moved;
        }
      }
      BigObjects::Handle h = big.find(reinterpret_cast<char *>(o) + o->bytes / 2);
      wrong += !h;
      big.promote(h, price, 20000000, 1000000000, false);
      big.note_worth(h, 1000000);
      if ((o = slot[random() % 16].exchange(o))) {
        wrong += !holds(o, o->bytes) || big.usable_bytes(o) < o->bytes;
        wrong += !big.release(o);
      }
      if (turn % 8 == 0)
        big.promote(big.next_pending(cursor), price, 5000000, 2000000, false);
      big.next_unrecorded();
      if (turn % 64 == 0)
        big.trim();
    }
  });
  EXPECT_GT(made.load(), 1000u);
  for (auto &s : slot)
    if (Object *o = s.load()) {
      wrong += !holds(o, o->bytes);
      wrong += !big.release(o);
    }
  EXPECT_EQ(wrong.load(), 0u);
  big.trim();
  EXPECT_TRUE(big.check_invariants());
  EXPECT_EQ(counters.big_objects_now.get(), 0u);
  EXPECT_EQ(counters.superpages_now.get(), 0u);
  EXPECT_EQ(region.charged_superpages(), 0u);
  EXPECT_EQ(counters.mappings.get(), 0u);
  EXPECT_EQ(pending, 0u);
}

TEST_F(ThreadsTest, PagesAreUsedWhileTheyAreCollapsed) {
  SmallPages pages;
  SmallPages::Config config;
  config.has_super = true;
  ASSERT_TRUE(pages.init(region, config));
  pages.lower_reach(0);
  std::atomic<unsigned> wrong{0};
  all_threads([&](unsigned k) {
    std::mt19937 random(k);
    constexpr size_t kUnits = 3, kPages = kUnits * kPagesPerUnit;
    char *start = pages.grow(kUnits * kSuperpageBytes, kBasePageBytes, kThreads);
    if (!start) {
      wrong++;
      return;
    }
    std::vector<unsigned> value(kPages);
    auto word = [&](size_t page) {
      return reinterpret_cast<volatile unsigned *>(start + page * kBasePageBytes);
    };
    for (unsigned turn = 1; turn < 600; turn++) {
      size_t first = random() % kPages, n = min_of<size_t>(kPages - first, 1 + random() % 700);
      if (random() % 5 < 3) {
        while (n && value[first])
          first++, n--;
        size_t free = 0;
        while (free < n && !value[first + free])
          free++;
        if (free == 0)
          continue;
        pages.commit(start + first * kBasePageBytes, free * kBasePageBytes);
        for (size_t i = first; i < first + free; i++) {
          wrong += *word(i) != 0;
          *word(i) = value[i] = turn;
        }
      } else {
        for (size_t i = first; i < first + n; i++)
          wrong += value[i] && *word(i) != value[i];
        pages.decommit(start + first * kBasePageBytes, n * kBasePageBytes);
        std::fill_n(value.begin() + static_cast<ptrdiff_t>(first), n, 0u);
      }
      if (pages.pending() || turn % 16 == 0)
        pages.promote(price, 2000000, true);
      pages.earn_time();
      if (turn % 100 == 0) {
        pages.promote_all(price);
        pages.purge_again();
      }
    }
    pages.decommit(start, kUnits * kSuperpageBytes);
  });
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_EQ(pages.live_bytes(), 0u);
  EXPECT_TRUE(pages.check_invariants());
  EXPECT_EQ(pending, 0u);
}
} // namespace
} // namespace smalloc
