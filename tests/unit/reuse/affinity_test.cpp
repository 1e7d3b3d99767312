// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reuse/affinity.h"
#include "runtime/reuse/distance_counter.h"
#include "tests/unit/reuse/streams.h"

#include <gtest/gtest.h>

using namespace smalloc::reuse;

namespace {

Histogram of(const Stream &stream) {
  DistanceCounter counter;
  counter.access(stream);
  return counter.histogram();
}

TEST(Affinity, HandComputed) {
  Histogram a, b;
  a.add(0, 1);
  a.add(4, 1); // octave 4-7
  b.add(7, 2);
  EXPECT_NEAR(hellinger_affinity(a, b), std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(hellinger_affinity(a, a), 1, 1e-12);
  Histogram far;
  far.add(1000);
  EXPECT_EQ(hellinger_affinity(a, far), 0);
  EXPECT_EQ(hellinger_affinity(a, {}), 0);
}

TEST(Affinity, TellsRelatedStreamsFromUnrelatedOnes) {
  const Histogram zipf_a = of(zipf(2000, 0.8, 50000, 1)), zipf_b = of(zipf(2000, 0.8, 30000, 2));
  const Histogram walk = of(cycle(4000, 50000));
  EXPECT_GT(hellinger_affinity(zipf_a, zipf_b), 0.95);
  EXPECT_LT(hellinger_affinity(zipf_a, walk), 0.5);
}

} // namespace
