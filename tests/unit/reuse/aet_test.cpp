// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reuse/aet.h"
#include "runtime/reuse/distance_counter.h"
#include "tests/unit/reuse/streams.h"

#include <gtest/gtest.h>

using namespace smalloc::reuse;

namespace {

TEST(Aet, AgreesWithExactDistancesOnRandomStreams) {
  for (const Stream &stream : {zipf(5000, 0.8, 300000, 1), uniform(3000, 300000, 2)}) {
    Aet model;
    DistanceCounter exact;
    model.access(stream);
    exact.access(stream);
    for (uint64_t capacity : {16, 64, 256, 1024, 2048, 2900, 6000})
      EXPECT_NEAR(model.miss_ratio(capacity), exact.miss_ratio(capacity), 0.015) << capacity;
  }
}

TEST(Aet, CyclesHaveAnEdge) {
  Aet model;
  model.access(cycle(1000, 100000));
  EXPECT_NEAR(model.miss_ratio(990), 1, 0.02);
  EXPECT_NEAR(model.miss_ratio(1010), 0.01, 0.011);
}

TEST(Aet, EverythingFits) {
  Aet model;
  model.access(uniform(10, 1000, 3));
  EXPECT_NEAR(model.misses(100), 10, 1e-6);
}

TEST(Aet, NothingHappened) {
  Aet model;
  EXPECT_EQ(model.misses(10), 0);
}

TEST(Aet, ComposesThreads) {
  // Two threads of different speed and different pages, mixed at random. The mixture is measured
  // exactly.
  const Stream a = zipf(4000, 0.8, 300000, 4), b = uniform(700, 100000, 5);
  Stream both;
  std::mt19937_64 random(6);
  for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (j == b.size() || (i < a.size() && random() % 4 != 0))
      both.push_back(a[i++]);
    else
      both.push_back(b[j++] + 1000000);
  }
  Aet one, two;
  DistanceCounter exact;
  one.access(a);
  two.access(b);
  exact.access(both);
  const Histogram *threads[] = {&one.times(), &two.times()};
  for (uint64_t capacity : {64, 256, 512, 1024, 2048, 4096}) {
    EXPECT_NEAR(composed_miss_ratio(threads, capacity), exact.miss_ratio(capacity), 0.015)
        << capacity;
    // Alone, the first would miss less: the composition differs from its parts.
    if (capacity == 1024) {
      EXPECT_GT(std::abs(one.miss_ratio(capacity) - exact.miss_ratio(capacity)), 0.03);
    }
  }
}

} // namespace
