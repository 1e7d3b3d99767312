// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/trace/event_clock.h"

#include <gtest/gtest.h>

using namespace smalloc::trace;

namespace {

uint64_t system_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000 + static_cast<uint64_t>(t.tv_nsec);
}

TEST(EventClock, IsTheSystemsAndNeverGoesBack) {
  // Each reading lies between the system's before and after it, whatever happens in between. 1 ms
  // is the most by which the estimate of the counter's frequency may be off when it is made.
  constexpr int64_t kSlack = 1000000;
  EventClock clock;
  const uint64_t before_start = system_ns();
  clock.start();
  const uint64_t after_start = system_ns();
  ThreadTime time = {};
  uint64_t last = 0, different = 0;
  for (int i = 0; i < 2000000; i++) {
    const bool look = i % 1000 == 0;
    const uint64_t before = look ? system_ns() : 0;
    const uint64_t now = clock.now(time);
    ASSERT_GE(now, last);
    different += now != last;
    last = now;
    if (look) {
      ASSERT_GE(static_cast<int64_t>(now) + kSlack, static_cast<int64_t>(before - after_start));
      ASSERT_LE(static_cast<int64_t>(now) - kSlack,
                static_cast<int64_t>(system_ns() - before_start));
    }
  }
  EXPECT_GT(different, 10000u); // it advances in between
}

TEST(EventClock, AnotherThreadsTimeIsTheSame) {
  EventClock clock;
  clock.start();
  ThreadTime a = {}, b = {};
  for (int i = 0; i < 100000; i++) {
    const uint64_t first = clock.now(a), second = clock.now(b), third = clock.now(a);
    ASSERT_LE(first, third);
    ASSERT_GE(static_cast<int64_t>(second) + 1000000, static_cast<int64_t>(first));
  }
}

} // namespace
