// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/trace/declared_work.h"
#include "runtime/trace/reader.h"
#include "runtime/trace/writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <list>
#include <random>
#include <unistd.h>
#include <unordered_map>

using namespace smalloc::trace;

namespace {

std::vector<AccessRun> all_of(uint64_t iterations, std::vector<WalkReference> references,
                              uint64_t threshold = kEveryRegion) {
  WalkPages walk(iterations, std::move(references), threshold);
  EXPECT_TRUE(walk.plausible());
  std::vector<AccessRun> runs;
  while (walk.take(runs, 100)) {
  }
  return runs;
}

// A fully associative LRU TLB that counts its misses, written plainly.
class Tlb {
public:
  explicit Tlb(size_t entries) : entries_(entries) {}
  void access(uint64_t page) {
    if (const auto at = where_.find(page); at != where_.end()) {
      order_.splice(order_.begin(), order_, at->second);
      return;
    }
    misses++;
    order_.push_front(page);
    where_[page] = order_.begin();
    if (order_.size() > entries_) {
      where_.erase(order_.back());
      order_.pop_back();
    }
  }
  uint64_t misses = 0;

private:
  size_t entries_;
  std::list<uint64_t> order_;
  std::unordered_map<uint64_t, std::list<uint64_t>::iterator> where_;
};

// Missing if this fails: a stream is one run a page, with all of its accesses counted.
TEST(Walk, StreamIsOneRunAPage) {
  const auto runs = all_of(1024, {{0x10000, 8, false}});
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].address, 0x10000u);
  EXPECT_EQ(runs[0].repeats, 511u);
  EXPECT_EQ(runs[1].address, 0x11000u);
  EXPECT_EQ(runs[1].repeats, 511u);
}

TEST(Walk, BackwardsAndAcrossTheBorder) {
  // 0x11008, 0x11000, then 0x10ff8 on the page below.
  const auto runs = all_of(4, {{0x11008, -8, true}});
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].repeats, 1u);
  EXPECT_EQ(runs[1].address >> 12, 0x10u);
  EXPECT_EQ(runs[1].repeats, 1u);
  EXPECT_TRUE(runs[1].write);
}

TEST(Walk, ReferencesTakeTurns) {
  const auto runs = all_of(3, {{0x100000, 4096, false}, {0x900000, 8192, true}});
  ASSERT_EQ(runs.size(), 6u);
  for (size_t i = 0; i < 6; i++) {
    EXPECT_EQ(runs[i].address, (i % 2 ? 0x900000 + 8192 * (i / 2) : 0x100000 + 4096 * (i / 2)));
    EXPECT_EQ(runs[i].write, i % 2 == 1);
    EXPECT_EQ(runs[i].repeats, 0u);
  }
}

// Missing if this fails: a walk's runs give a TLB the misses of the loop itself, however its
// references move. No reuse distance is off by more than 16 pages, and on the whole the misses are
// the same.
TEST(Walk, MissesAreThoseOfTheLoop) {
  constexpr size_t kEntries = 64, kOff = 16;
  std::mt19937_64 random(7);
  const int64_t strides[] = {0, 8, -8, 24, 64, 200, -520, 1000, 4096, -4096, 8200, 70000};
  double all_loop = 0, all_told = 0;
  for (int round = 0; round < 300; round++) {
    std::vector<WalkReference> references;
    for (size_t n = 1 + random() % 5; n > 0; n--)
      references.push_back({(uint64_t{1} << 40) + random() % (64 << 20), // they may overlap
                            strides[random() % std::size(strides)], random() % 2 == 0});
    const uint64_t iterations = 1 + random() % 3000;
    Tlb loop(kEntries), fewer(kEntries - kOff), more(kEntries + kOff), told(kEntries);
    uint64_t accesses = 0;
    for (int again = 0; again < 3; again++) { // the state after one walk counts for the next
      for (uint64_t i = 0; i < iterations; i++)
        for (const WalkReference &r : references)
          for (Tlb *tlb : {&loop, &fewer, &more})
            tlb->access((r.address + static_cast<uint64_t>(r.stride) * i) >> 12);
      for (const AccessRun &run : all_of(iterations, references)) {
        told.access(run.address >> 12);
        accesses += run.repeats + 1;
      }
    }
    EXPECT_EQ(accesses, 3 * iterations * references.size());
    EXPECT_LE(told.misses, fewer.misses) << "round " << round;
    EXPECT_GE(told.misses, more.misses) << "round " << round;
    all_loop += static_cast<double>(loop.misses);
    all_told += static_cast<double>(told.misses);
  }
  EXPECT_NEAR(all_told / all_loop, 1, 0.002);
}

TEST(Walk, OnlySampledRegionsAreTold) {
  const uint64_t start = uint64_t{5} << 32;
  const auto runs = all_of(1 << 17, {{start, 4096, false}}, kEveryRegion / 4);
  ASSERT_FALSE(runs.empty());
  for (const AccessRun &run : runs)
    EXPECT_LT(region_hash(run.address), kEveryRegion / 4);
  EXPECT_EQ(runs.size() % 512, 0u); // whole regions
  EXPECT_NEAR(static_cast<double>(runs.size()), (1 << 17) / 4.0, (1 << 17) * 0.1);
}

TEST(Walk, TooMuchIsNotPlausible) {
  EXPECT_FALSE(WalkPages(uint64_t{1} << 40, {{0, 4096, false}}, kEveryRegion).plausible());
  EXPECT_FALSE(WalkPages(1, {}, kEveryRegion).plausible());
  EXPECT_TRUE(WalkPages(UINT64_MAX, {{0, 0, false}}, kEveryRegion).plausible());
}

class WalkFile : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "smalloc-walk.XXXXXX").string();
    ASSERT_TRUE(mkdtemp(name.data()));
    folder_ = name;
    path_ = (folder_ / "t.trace").string();
  }
  void TearDown() override {
    output_.close();
    std::filesystem::remove_all(folder_);
  }
  // Writes one walk and reads all runs back.
  std::vector<AccessRun> through_a_file(const std::string &header, uint64_t iterations,
                                        const std::vector<WalkReference> &references) {
    EXPECT_EQ(output_.open(path_.c_str(), header.data(), header.size()), 0);
    ThreadChunk *chunk = ThreadChunk::create(output_, 1);
    chunk->walk(5, iterations, references.data(), references.size());
    chunk->flush();
    chunk->destroy();
    std::vector<AccessRun> runs;
    Reader reader(path_);
    reader.read([&](const Event &e) {
      EXPECT_TRUE(e.accesses.size() <= kMostAccesses);
      runs.insert(runs.end(), e.accesses.begin(), e.accesses.end());
    });
    EXPECT_EQ(reader.bad_records(), 0u);
    return runs;
  }
  std::filesystem::path folder_;
  std::string path_;
  Output output_;
};

TEST_F(WalkFile, ComesBackAsAccesses) {
  const std::vector<WalkReference> references = {{0x7f0000001230, 24, true},
                                                 {0x7f0000800000, -4096, false}};
  const auto want = all_of(5000, references);
  const auto got = through_a_file("program=a\n", 5000, references);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); i++) {
    EXPECT_EQ(got[i].address, want[i].address);
    EXPECT_EQ(got[i].repeats, want[i].repeats);
    EXPECT_EQ(got[i].write, want[i].write);
  }
}

// Missing if this fails: a loop over more pages than a record may have is recorded in several, to
// its end.
TEST_F(WalkFile, LongWalksAreSplit) {
  const uint64_t pages = (uint64_t{1} << 21) + 17;
  ReadingLimits::lifted = true; // a file of few bytes stands for fewer pages otherwise
  const auto got = through_a_file("program=a\n", pages, {{uint64_t{1} << 40, 4096, false}});
  ReadingLimits::lifted = false;
  ASSERT_EQ(got.size(), pages);
  EXPECT_EQ(got.back().address, (uint64_t{1} << 40) + (pages - 1) * 4096);
}

TEST_F(WalkFile, RateOfTheHeaderCounts) {
  const auto got = through_a_file("rate=0.25\n", 1 << 18, {{uint64_t{1} << 40, 4096, false}});
  ASSERT_FALSE(got.empty());
  EXPECT_LT(got.size(), size_t{1} << 17);
  for (const AccessRun &run : got)
    EXPECT_LT(region_hash(run.address), kEveryRegion / 4);
}

} // namespace
