// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reuse/distance_counter.h"
#include "runtime/trace/reader.h"
#include "runtime/trace/region_sample.h"
#include "runtime/trace/writer.h"
#include "tests/unit/reuse/streams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>

using namespace smalloc::trace;
using smalloc::reuse::DistanceCounter;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t kRegion = uint64_t{2} << 20;

struct Sample : RegionSample {
  explicit Sample(uint64_t most, uint64_t threshold = kEveryRegion) { open(threshold, most); }
  ~Sample() { close(); }
};

TEST(RegionSample, WithoutABoundTheRateStays) {
  Sample sample(0, kEveryRegion / 4);
  for (uint64_t region = 0; region < 100000; region++)
    EXPECT_FALSE(sample.meet(region_hash(region * kRegion)));
  EXPECT_FALSE(sample.bounded());
  EXPECT_EQ(sample.threshold(), kEveryRegion / 4);
}

TEST(RegionSample, WhatFitsIsKeptWhole) {
  Sample sample(100);
  for (int round = 0; round < 3; round++)
    for (uint64_t region = 0; region < 100; region++)
      EXPECT_FALSE(sample.meet(region_hash(region * kRegion)));
  EXPECT_EQ(sample.threshold(), kEveryRegion);
}

TEST(RegionSample, KeepsThoseWithTheSmallestHashes) {
  for (uint64_t most : {1, 7, 64, 1000}) {
    Sample sample(most);
    std::set<uint64_t> hashes;
    int falls = 0;
    for (uint64_t region = 1; region <= 20000; region++) {
      hashes.insert(region_hash(region * kRegion));
      falls += sample.meet(region_hash(region * kRegion));
      const auto below = static_cast<uint64_t>(
          std::distance(hashes.begin(), hashes.lower_bound(sample.threshold())));
      ASSERT_LE(below, most);
      ASSERT_GE(below, std::min<uint64_t>(region, most - most / 8));
    }
    EXPECT_GT(falls, 0);
    if (most >= 64) {
      EXPECT_LT(falls, 60); // each is written into the trace
    }
  }
}

TEST(RegionSample, ABoundOfZeroMemoryHasItsLimit) {
  Sample sample(UINT64_MAX);
  EXPECT_TRUE(sample.bounded());
  EXPECT_FALSE(sample.meet(1));
}

TEST(RegionSample, LoopsAreMetByTheRegion) {
  Sample sample(10);
  const WalkReference list[] = {
      {0, 8, false}, {64 * kRegion, -4096, true}, {0, int64_t{4} << 20, false}};
  EXPECT_FALSE(sample.meet_walk(kRegion, list, 1)); // eight
  EXPECT_FALSE(sample.meet_walk(500, list + 1, 1)); // two more
  EXPECT_EQ(sample.threshold(), kEveryRegion);
  EXPECT_TRUE(sample.meet_walk(20, list + 2, 1));
  EXPECT_LT(sample.threshold(), kEveryRegion);
}

TEST(RegionSample, ThreadsMeetTogether) {
  Sample sample(500);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&] {
      for (uint64_t region = 1; region < 20000; region++)
        sample.meet(region_hash(region * kRegion));
    });
  for (std::thread &t : threads)
    t.join();
  // A thread that found another one adding has gone on; the region is met when it is accessed
  // again.
  for (uint64_t region = 1; region < 20000; region++)
    sample.meet(region_hash(region * kRegion));
  uint64_t below = 0;
  for (uint64_t region = 1; region < 20000; region++)
    below += region_hash(region * kRegion) < sample.threshold();
  EXPECT_LE(below, 500u);
  EXPECT_GE(below, 400u);
}

class Recorded : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "smalloc-sample.XXXXXX").string();
    ASSERT_TRUE(mkdtemp(name.data()));
    folder_ = name;
    const std::string header = "rate=1\n";
    ASSERT_EQ(output_.open(path().c_str(), header.data(), header.size()), 0);
    chunk_ = ThreadChunk::create(output_, 1);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path() const { return (folder_ / "t.trace").string(); }
  // Records addresses as the collector does.
  void tell(RegionSample &sample, std::vector<uint64_t> addresses) {
    bool lowered = false;
    const size_t kept = sample.keep(addresses.data(), addresses.size(), met_, lowered);
    chunk_->sampled_below(sample.threshold());
    if (kept)
      chunk_->told(++now_, addresses.data(), kept);
  }
  void finish() {
    chunk_->flush();
    chunk_->destroy();
    output_.close();
  }

  fs::path folder_;
  LatelyMet met_ = {};
  Output output_;
  ThreadChunk *chunk_ = nullptr;
  uint64_t now_ = 0;
};

TEST_F(Recorded, MissRatiosAreThoseOfTheWholeProgram) {
  // A footprint that grows: every second access goes to the pages so far, so that the rate falls on
  // the way.
  constexpr uint64_t kRegions = 20000, kMost = 2000;
  const auto stream = smalloc::reuse::uniform(uint64_t{1} << 40, 3000000, 9);
  Sample sample(kMost);
  DistanceCounter exact;
  std::vector<uint64_t> told;
  for (size_t i = 0; i < stream.size(); i++) {
    const uint64_t known =
        1 + kRegions * std::min(i + stream.size() / 10, stream.size()) / stream.size();
    const uint64_t page = stream[i] % known * 512 + stream[i] / known % 2 * 77;
    exact.access({&page, 1});
    told.push_back(page << 12 | (i & 1 ? kWrites : 0));
    if (told.size() == 1000) {
      tell(sample, std::move(told));
      told.clear();
    }
  }
  finish();
  Reader reader(path());
  EXPECT_LT(reader.rate(), 1.2 * kMost / kRegions);
  EXPECT_GT(reader.rate(), 0.7 * kMost / kRegions);
  EXPECT_EQ(reader.rate() * static_cast<double>(kEveryRegion),
            static_cast<double>(sample.threshold()));
  DistanceCounter sampled;
  std::set<uint64_t> regions;
  reader.read([&](const Event &e) {
    for (const AccessRun &run : e.accesses) {
      const uint64_t page = run.address >> 12;
      regions.insert(page >> 9);
      sampled.access({&page, 1});
    }
  });
  EXPECT_LE(regions.size(), kMost);
  for (uint64_t region : regions)
    ASSERT_LT(region_hash(region * kRegion), sample.threshold());
  const auto whole = sampled.histogram().of_whole(reader.rate());
  double sum = 0;
  int n = 0;
  for (uint64_t capacity = 500; capacity <= 2 * kRegions; capacity += 500, n++)
    sum += std::abs(whole.at_least(static_cast<double>(capacity)) / whole.total() -
                    exact.miss_ratio(capacity));
  EXPECT_LT(sum / n, 0.01);
}

TEST_F(Recorded, EachPartSaysItsOwnRate) {
  Sample sample(16);
  std::vector<uint64_t> thresholds;
  for (uint64_t region = 0; region < 64; region++)
    tell(sample, {region * kRegion});
  finish();
  Reader reader(path());
  uint64_t below = kEveryRegion;
  reader.read([&](const Event &e) {
    if (e.type == Type::kSample) {
      EXPECT_LE(e.threshold, below);
      below = e.threshold;
      thresholds.push_back(below);
    }
  });
  EXPECT_GT(thresholds.size(), 3u);
  EXPECT_EQ(thresholds.front(), kEveryRegion);
  EXPECT_EQ(thresholds.back(), sample.threshold());
  EXPECT_TRUE(std::is_sorted(thresholds.rbegin(), thresholds.rend()));
}

} // namespace
