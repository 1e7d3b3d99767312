// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmarks/shards.h"
#include "tests/unit/reuse/streams.h"

#include <gtest/gtest.h>

using namespace smalloc::reuse;

namespace {

double mean_error(const Engine &estimate, const DistanceCounter &exact, uint64_t most) {
  double sum = 0;
  int n = 0;
  for (uint64_t capacity = most / 32; capacity <= most; capacity += most / 32, n++)
    sum += std::abs(estimate.miss_ratio(capacity) - exact.miss_ratio(capacity));
  return sum / n;
}

TEST(Shards, RateOneKeepsEverything) {
  const Stream stream = mixed(5000, 1);
  ShardsFixedRate sampler(1, 0);
  DistanceCounter exact;
  sampler.access(stream);
  exact.access(stream);
  for (uint64_t capacity : {1, 7, 100, 1000})
    EXPECT_EQ(sampler.misses(capacity), exact.misses(capacity));
}

TEST(Shards, RegionsAreKeptWholeOrNotAtAll) {
  // Pages of one region are kept or dropped together, so reuse survives at every page size up to
  // the region's.
  ShardsFixedRate sampler(0.1, 9);
  Stream stream;
  for (uint64_t region = 0; region < 1000; region++)
    for (uint64_t page = 0; page < 512; page++)
      stream.push_back(region * 512 + page);
  sampler.access(stream);
  const uint64_t kept = sampler.sampled().distinct_pages();
  EXPECT_EQ(kept % 512, 0u);
  EXPECT_NEAR(static_cast<double>(kept) / 512, 100, 15);
  EXPECT_EQ(sampler.accesses(), 512000);
}

TEST(Shards, FixedRateEstimatesTheCurve) {
  const Stream stream = zipf(200000, 0.8, 2000000, 2);
  DistanceCounter exact;
  exact.access(stream);
  for (auto [rate, error] : {std::pair{0.1, 0.01}, {0.01, 0.01}}) {
    ShardsFixedRate sampler(rate, 0);
    sampler.access(stream);
    EXPECT_LT(mean_error(sampler, exact, 160000), error) << rate;
    EXPECT_LT(static_cast<double>(sampler.sampled().accesses()), 2e6 * rate * 3);
  }
}

TEST(Shards, FixedSizeEstimatesTheCurveInBoundedMemory) {
  const Stream stream = zipf(200000, 0.8, 2000000, 3);
  DistanceCounter exact;
  exact.access(stream);
  ShardsFixedSize sampler(8000, 0);
  sampler.access(stream);
  EXPECT_LE(sampler.kept_pages(), 8000u);
  EXPECT_LT(sampler.rate(), 0.1);
  EXPECT_GT(sampler.rate(), 0.01);
  EXPECT_LT(mean_error(sampler, exact, 160000), 0.02);
}

TEST(Shards, SmallStreamsAreKeptAtAHigherRate) {
  // A hundredth of 10,000 pages is too small a sample.
  const Stream stream = zipf(10000, 0.8, 2000000, 5);
  DistanceCounter exact;
  exact.access(stream);
  ShardsFixedRate hundredth(0.01, 0);
  ShardsFixedSize adapted(4096, 0, 0.01);
  hundredth.access(stream);
  adapted.access(stream);
  EXPECT_GT(adapted.rate(), 0.3);
  EXPECT_LT(mean_error(adapted, exact, 10000), 0.01);
  EXPECT_LT(mean_error(adapted, exact, 10000), mean_error(hundredth, exact, 10000));
}

TEST(Shards, TheRateFallsNoLowerThanItsLeast) {
  const Stream stream = zipf(200000, 0.8, 2000000, 6);
  DistanceCounter exact;
  exact.access(stream);
  ShardsFixedSize adapted(1000, 0, 0.05);
  adapted.access(stream);
  EXPECT_NEAR(adapted.rate(), 0.05, 1e-6);
  EXPECT_GT(adapted.kept_pages(), 8000u);
  EXPECT_LT(mean_error(adapted, exact, 160000), 0.01);
}

TEST(Shards, FixedSizeIsExactWhileEverythingFits) {
  const Stream stream = uniform(500, 20000, 4);
  ShardsFixedSize sampler(1000, 0);
  DistanceCounter exact;
  sampler.access(stream);
  exact.access(stream);
  EXPECT_EQ(sampler.rate(), 1);
  for (uint64_t capacity : {1, 100, 499, 500})
    EXPECT_EQ(sampler.misses(capacity), exact.misses(capacity));
}

TEST(Shards, FixedSizeDropsWholeRegions) {
  ShardsFixedSize sampler(2000, 9);
  Stream stream;
  for (uint64_t page = 0; page < 50 * 512; page++)
    stream.push_back(page);
  sampler.access(stream);
  EXPECT_LE(sampler.kept_pages(), 2000u);
  EXPECT_GT(sampler.kept_pages(), 0u);
}

TEST(Shards, RefusesImpossibleSamples) {
  EXPECT_THROW(ShardsFixedRate(0, 0), std::invalid_argument);
  EXPECT_THROW(ShardsFixedRate(1.5, 0), std::invalid_argument);
  EXPECT_THROW(ShardsFixedSize(0, 0), std::invalid_argument);
  EXPECT_THROW(ShardsFixedSize(1, 0, 1.5), std::invalid_argument);
}

} // namespace
