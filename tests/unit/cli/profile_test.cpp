// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// profile_test.cpp tests the ranking of traces that it writes: the weight of PMU samples, and known
// clusters.
#include "runtime/cli/analyze/analyze_report.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/profile/profile.h"
#include "runtime/trace/writer.h"

#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace smalloc::cli {
namespace {

namespace fs = std::filesystem;
using benefit::PageSize;

// 64 entries for base pages, 16 for superpages; a walk takes 100 cycles; first touch costs almost
// nothing.
format::MachineProfile machine() {
  return format::parse_machine(
      R"({"schema": "smalloc.machine/1", "name": "m", "frequency_hz": 1e9,
          "tlb": [{"level": 1, "kind": "data", "page_bytes": [4096], "entries": 64, "ways": 0},
                  {"level": 1, "kind": "data", "page_bytes": [2097152], "entries": 16, "ways": 0}],
          "walk_cost": [{"page_bytes": 4096, "cycles": 100}],
          "first_touch_ns": [{"page_bytes": 4096, "value": 1},
                             {"page_bytes": 2097152, "value": 1}]})");
}

constexpr uint64_t kMiB = 1 << 20;
uint64_t address_of(uint64_t site) { return site << 32; }

class ProfileTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "smalloc-profile.XXXXXX").string();
    ASSERT_TRUE(mkdtemp(name.data()));
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  void begin(const std::string &header) {
    const std::string path = (folder_ / "t.trace").string();
    ASSERT_EQ(output_.open(path.c_str(), header.data(), header.size()), 0);
    chunk_ = trace::ThreadChunk::create(output_, 1);
    ASSERT_TRUE(chunk_);
    options_.traces = {path};
    options_.seconds = 1;
    options_.threads = 1;
  }
  // Allocates one object of the site; the site's id is also its place.
  void allocate(uint64_t site, uint64_t bytes) {
    const std::string text = "f" + std::to_string(site) + "\nf.c:" + std::to_string(site);
    chunk_->site(site, trace::kCompilerSite, 0, text.data(), text.size());
    chunk_->allocate(now_ += 10, site, bytes, address_of(site));
  }
  void access(uint64_t site, uint64_t offset, uint64_t weight = 1) {
    const trace::ThreadChunk::Access one = {address_of(site) + offset, 0, false};
    chunk_->accesses(now_ += 10, weight, &one, 1);
  }
  void free(uint64_t site) { chunk_->free(now_ += 10, address_of(site)); }
  Profile analysed(const format::MachineProfile &profile = machine(), uint64_t lost = 0) {
    chunk_->end(now_ += 10, lost);
    chunk_->flush();
    output_.close();
    chunk_->destroy();
    const benefit::CostModel costs(profile);
    return analyse(options_, costs, {});
  }
  std::mt19937_64 random_{1};
  ProfileOptions options_;

private:
  fs::path folder_;
  trace::Output output_;
  trace::ThreadChunk *chunk_ = nullptr;
  uint64_t now_ = 0;
};

// A few events are always lost if threads still run when the program ends.
TEST_F(ProfileTest, WhoAnalysesIsToldWhenAHundredthIsMissing) {
  for (const bool many : {false, true}) {
    if (many)
      SetUp();
    begin("rate=1\n");
    allocate(1, 8 * kMiB);
    for (int i = 0; i < 1000; i++)
      access(1, random_() % (8 * kMiB));
    testing::internal::CaptureStderr();
    const Profile p = analysed(machine(), many ? 11 : 9);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(p.traces[0].lost, many ? 11u : 9u);
    EXPECT_EQ(said.find("events are missing") != std::string::npos, many) << said;
    const std::string told =
        ": the trace has " + std::to_string(p.traces[0].events) + " events and lacks 11";
    EXPECT_EQ(said.find(told) != std::string::npos, many) << said;
    if (!many)
      TearDown();
  }
}

TEST_F(ProfileTest, SamplesOfAPmuStandForTheirPeriod) {
  begin("rate=1\nsamples=tlb-misses\nperiod=1000\nsource=pmu\n");
  allocate(1, 8 * kMiB);
  allocate(2, 64 * kMiB);
  // 300 misses of the first, which 4 superpages hold. 100 of the second, whose 32 superpages are
  // too many for 16 entries.
  for (int i = 0; i < 300; i++) {
    access(1, random_() % (8 * kMiB), 1000);
    if (i % 3 == 0)
      access(2, uint64_t(i / 3 % 32) * 2 * kMiB, 1000);
  }
  const Profile p = analysed();
  ASSERT_EQ(p.mappings.size(), 2u);
  EXPECT_TRUE(p.has_accesses && p.significant);
  EXPECT_EQ(p.traces[0].accesses, 400 * 1000);
  EXPECT_TRUE(p.traces[0].misses);
  EXPECT_EQ(p.rates.tlb_misses_per_second, 400 * 1000);
  const RankedMapping &first = p.mappings[0], &second = p.mappings[1];
  EXPECT_EQ(first.function, "f1");
  EXPECT_EQ(first.accesses, 300 * 1000);
  EXPECT_EQ(first.tlb_misses_base, 400 * 1000);
  EXPECT_EQ(first.result().tlb_misses, 100 * 1000 + 4); // those of the other site, and four first
                                                        // touches
  EXPECT_TRUE(first.mapping.chosen);
  // The accesses cycle through 32 superpages in 16 entries: each sample misses, but 32 of them are
  // first touches, one miss each.
  EXPECT_EQ(second.result().tlb_misses, 300 * 1000 + 68 * 1000 + 32);
  EXPECT_LT(second.mapping.pmb_percent, 20);
}

// A block of 40 MiB is mapped by itself, and unmapped when freed. One of 16 MiB may be kept by
// malloc.
TEST_F(ProfileTest, LargeBlocksFaultEachTimeTheyAreMade) {
  begin("rate=1\n");
  for (int round = 0; round < 3; round++)
    for (const uint64_t site : {1u, 2u}) {
      const uint64_t bytes = site == 1 ? 40 * kMiB : 16 * kMiB;
      allocate(site, bytes);
      for (uint64_t page = 0; page < bytes; page += 4096)
        access(site, page);
      free(site);
    }
  const Profile p = analysed();
  ASSERT_EQ(p.mappings.size(), 2u);
  for (const RankedMapping &m : p.mappings) {
    EXPECT_EQ(m.page_faults_base, 3 * 10240 + 4096);
    EXPECT_EQ(m.result().page_faults, m.id == 1 ? 4096 + 20 : 3 * 10240 + 8);
  }
}

TEST_F(ProfileTest, OtherBasePagesAreRefused) {
  begin("rate=1\nbase_page_bytes=65536\n");
  allocate(1, 4 * kMiB);
  access(1, 0);
  EXPECT_THROW(analysed(), Failure);
}

TEST_F(ProfileTest, PageFaultsAreFirstTouches) {
  begin("rate=1\nsamples=faults\nperiod=1\nsource=faults\n");
  allocate(1, 4 * kMiB);
  for (uint64_t page = 0; page < 1024; page++)
    access(1, page * 4096);
  const Profile p = analysed();
  ASSERT_EQ(p.mappings.size(), 1u);
  EXPECT_TRUE(p.traces[0].faults);
  EXPECT_EQ(p.mappings[0].page_faults_base, 1024);
  EXPECT_EQ(p.mappings[0].result().page_faults, 2);
}

TEST_F(ProfileTest, DynamicCategoriesOfAKnownTrace) {
  begin("rate=1\n");
  options_.grouping = benefit::Grouping::kDynamic;
  // 1 to 3 together, then 4 and 5 together; 6 rarely with the first ones.
  for (uint64_t site = 1; site <= 6; site++)
    allocate(site, 2 * kMiB);
  for (int i = 0; i < 6000; i++) {
    for (uint64_t site = 1; site <= 3; site++)
      access(site, random_() % (2 * kMiB));
    if (i % 300 == 0)
      access(6, random_() % (2 * kMiB));
  }
  for (int i = 0; i < 6000; i++)
    for (uint64_t site = 4; site <= 5; site++)
      access(site, random_() % (2 * kMiB));
  const Profile p = analysed();
  std::set<std::set<uint64_t>> clusters;
  for (const RankedMapping &m : p.mappings) {
    std::set<uint64_t> ids;
    for (const ClusterMember &member : m.members)
      ids.insert(member.id);
    if (m.members.empty())
      ids.insert(m.id);
    clusters.insert(ids);
  }
  EXPECT_EQ(clusters, (std::set<std::set<uint64_t>>{{1, 2, 3}, {4, 5}, {6}}));
  // Of 18,000 and of 12,000 accesses: the larger cluster is first, with a superpage per site.
  EXPECT_EQ(p.mappings[0].members.size(), 3u);
  EXPECT_EQ(p.mappings[0].mapping.superpages, 3u);
  EXPECT_EQ(p.mappings[0].accesses, 18000);
  EXPECT_TRUE(p.mappings[0].steerable);
  EXPECT_EQ(p.categories, 3u);
}

TEST_F(ProfileTest, TheSmallestPageThatIsAsGood) {
  begin("rate=1\n");
  allocate(1, 2 * kMiB);
  for (int i = 0; i < 20000; i++)
    access(1, random_() % (2 * kMiB));
  options_.pages = {PageSize::kMedium, PageSize::kSuper, PageSize::kGigantic};
  auto profile = machine();
  profile.tlb.push_back(profile.tlb[0]);
  profile.tlb.back().page_bytes = {65536}; // 64 entries; 32 are enough
  const Profile p = analysed(profile);
  ASSERT_EQ(p.mappings.size(), 1u);
  const RankedMapping &m = p.mappings[0];
  ASSERT_EQ(m.sizes.size(), 2u); // no object fills a whole GiB
  EXPECT_EQ(m.result().page, PageSize::kMedium);
  EXPECT_EQ(m.result().page_count, 32u);
  EXPECT_EQ(m.sizes[0].tlb_misses, 32);
  EXPECT_EQ(m.sizes[1].tlb_misses, 1);
  EXPECT_GE(m.sizes[1].saved_cycles, m.sizes[0].saved_cycles); // but by less than a percent
}

// Sites whose gain the sample leaves open get no directive: a line for base pages would replace the
// compiler's decision by a guess.
TEST(AnalyzeDirectives, SaysNothingOfWhatTheSampleLeavesOpen) {
  Profile p;
  p.significant = true;
  const auto add = [&](uint64_t id, double low, double saved, bool chosen) {
    RankedMapping m;
    m.id = id;
    m.steerable = true;
    m.sizes.resize(1);
    m.mapping.saved_cycles_low = low;
    m.mapping.saved_cycles = saved;
    m.mapping.superpages = 10;
    m.mapping.chosen = chosen;
    p.mappings.push_back(m);
  };
  add(1, 5, 10, true);
  add(2, -600, 3830, false); // by the estimate the best of all
  add(3, -10, -5, false);    // a loss
  add(4, 3, 8, false);       // certain, but over the budget
  const directives::File file = analyze_directives({}, p, {}, machine());
  std::map<uint64_t, unsigned> shifts;
  for (const auto &[key, entry] : file.entries)
    shifts[key.site] = entry.page_shift;
  EXPECT_EQ(shifts, (std::map<uint64_t, unsigned>{{1, 21}, {3, 12}, {4, 12}}));
}

} // namespace
} // namespace smalloc::cli
