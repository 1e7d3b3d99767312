// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/benefit/thread_tlbs.h"

#include <gtest/gtest.h>

namespace smalloc::benefit {
namespace {

ThreadTlbs of_spans(std::initializer_list<std::pair<uint64_t, uint64_t>> spans,
                    uint64_t processors) {
  ThreadTlbs tlbs;
  uint64_t thread = 1;
  for (const auto &[first, last] : spans) {
    tlbs.accesses(thread, first);
    tlbs.accesses(thread++, last);
  }
  tlbs.settle(processors);
  return tlbs;
}

TEST(ThreadTlbs, NobodyHasOneToo) {
  const ThreadTlbs none = of_spans({}, 4);
  EXPECT_EQ(none.count(), 1u);
  EXPECT_EQ(none.of(7), 0u);
  EXPECT_EQ(none.seconds(), 0);
}

TEST(ThreadTlbs, ThreadsAtOnceHaveOneEach) {
  const ThreadTlbs tlbs = of_spans({{0, 100}, {5, 60}, {20, 60}}, 4);
  EXPECT_EQ(tlbs.count(), 3u);
  EXPECT_EQ(tlbs.of(1), 0u);
  EXPECT_EQ(tlbs.of(2), 1u);
  EXPECT_EQ(tlbs.of(3), 2u);
  EXPECT_NEAR(tlbs.seconds() * 1e9, 100 + 55 + 40, 1e-6);
}

// A main thread that starts one thread after the other: the core stays the same, and so do its
// TLB's contents.
TEST(ThreadTlbs, WhoBeginsTakesOverFromWhoEndedLast) {
  const ThreadTlbs tlbs = of_spans({{0, 100}, {5, 20}, {6, 30}, {31, 40}, {50, 60}}, 0);
  EXPECT_EQ(tlbs.count(), 3u);
  EXPECT_EQ(tlbs.of(4), tlbs.of(3));
  EXPECT_EQ(tlbs.of(5), tlbs.of(4));
}

TEST(ThreadTlbs, MoreThanProcessorsShareThem) {
  const ThreadTlbs tlbs = of_spans({{0, 100}, {1, 100}, {2, 100}, {3, 100}}, 2);
  EXPECT_EQ(tlbs.count(), 2u);
  EXPECT_EQ(tlbs.of(3), tlbs.of(1));
  EXPECT_EQ(tlbs.of(4), tlbs.of(2));
  ThreadTlbs many;
  for (uint64_t thread = 0; thread < 1000; thread++) {
    many.accesses(thread, thread);
    many.accesses(thread, 10000);
  }
  many.settle(0);
  EXPECT_EQ(many.count(), ThreadTlbs::kMostTlbs);
}

} // namespace
} // namespace smalloc::benefit
