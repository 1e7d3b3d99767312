// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/trace/recent_page_filter.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace smalloc::trace {
namespace {

constexpr uint64_t kPageBytes = 4096;

/// The filter written plainly: the page that each place has recorded since the window began.
class Oracle {
public:
  void open(uint64_t pages) {
    pages_ = left_ = pages;
    lately_.clear();
  }
  void use(uint64_t pages) { pages < left_ ? void(left_ -= pages) : open(pages_); }
  bool keeps(uint64_t access) {
    const uint64_t page = (access & ~kWrites) / kPageBytes;
    const auto at = lately_.find(page % 128);
    if (at != lately_.end() && at->second == page)
      return false;
    lately_[page % 128] = page;
    if (--left_ == 0)
      open(pages_);
    return true;
  }

private:
  uint64_t pages_ = 0, left_ = 0;
  std::map<uint64_t, uint64_t> lately_;
};

// Missing if this fails: only accesses to pages that the thread has recorded lately are left out.
// The rest keeps its order, however many come at a time.
TEST(RecentPageFilter, AgreesWithTheOracle) {
  std::mt19937_64 random(1);
  for (const uint64_t pages : {1, 40, 60, 300, 5000}) {
    RecentPageFilter lately = {};
    Oracle oracle;
    lately.open(48);
    oracle.open(48);
    for (int round = 0; round < 300; round++) {
      std::vector<uint64_t> told, kept;
      for (uint64_t n = random() % 1000; n > 0; n--) {
        const uint64_t page = random() % 4 ? random() % pages : pages + random() % 3;
        told.push_back((0x7f0000000000 + page * kPageBytes + random() % kPageBytes) |
                       (random() % 2 ? kWrites : 0));
        if (oracle.keeps(told.back()))
          kept.push_back(told.back());
      }
      told.resize(lately.keep(told.data(), told.size()));
      ASSERT_EQ(told, kept) << pages << " pages, round " << round;
      if (round % 5 == 0) {
        const uint64_t used = random() % 60;
        lately.use(used);
        oracle.use(used);
      }
      if (round % 50 == 0) {
        lately.open(8 + random() % 41);
        oracle = {};
        lately.open(24);
        oracle.open(24);
      }
    }
  }
}

// Missing if this fails: a loop that jumps about in a small table writes next to nothing.
TEST(RecentPageFilter, ASmallTableIsToldOnce) {
  RecentPageFilter lately = {};
  lately.open(48);
  size_t kept = 0;
  for (uint64_t i = 0; i < 100000; i++) {
    uint64_t access = (1000 + i * 7919 % 32) * kPageBytes;
    kept += lately.keep(&access, 1);
  }
  EXPECT_EQ(kept, 32u);
}

// Missing if this fails: a page recorded in one window is recorded again in the next.
TEST(RecentPageFilter, EveryWindowTellsAnew) {
  RecentPageFilter lately = {};
  for (int window = 0; window < 100; window++) {
    lately.open(48);
    uint64_t same[] = {5 * kPageBytes, 5 * kPageBytes + 64, kWrites | (6 * kPageBytes)};
    ASSERT_EQ(lately.keep(same, 3), 2u) << window;
    ASSERT_EQ(same[1], kWrites | (6 * kPageBytes));
  }
}

// Missing if this fails: a sample that has become smaller has smaller windows, from the next on.
TEST(RecentPageFilter, WindowsShrink) {
  RecentPageFilter lately = {};
  lately.open(4);
  lately.later(2);
  std::vector<uint64_t> told;
  for (uint64_t page : {1, 2, 1, 3, 4, 1, 2, 1, 1})
    told.push_back(page * kPageBytes);
  told.resize(lately.keep(told.data(), told.size()));
  std::vector<uint64_t> want;
  for (uint64_t page : {1, 2, 3, 4, 1, 2, 1})
    want.push_back(page * kPageBytes);
  EXPECT_EQ(told, want);
}

// Missing if this fails: with a window of one page, the least, each access is recorded.
TEST(RecentPageFilter, TheLeastWindow) {
  RecentPageFilter lately = {};
  lately.open(1);
  uint64_t same[] = {kPageBytes, kPageBytes, kPageBytes};
  EXPECT_EQ(lately.keep(same, 3), 3u);
}

} // namespace
} // namespace smalloc::trace
