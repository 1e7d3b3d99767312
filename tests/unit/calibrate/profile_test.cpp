// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// profile_test.cpp tests the order of trust, the arithmetic of the miss cost with the numbers of
// its sources, and when a stored profile no longer fits.
#include "runtime/calibrate/calibrated_profile.h"
#include "runtime/measure/curve.h"
#include "runtime/measure/miss_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace smalloc::calibrate {
namespace {

constexpr uint64_t k2M = 2u << 20;

ProfileSources zen4_guest() {
  ProfileSources s;
  s.preset = smalloc_machine_by_name("zen4");
  s.cpuid = {{1, 4096, 72, 0}, {2, 4096, 3072, 8}, {2, k2M, 3072, 6}, {2, 1u << 30, 64, 0}};
  s.geometry.levels = {{1, 4096, {72, 72, 72}, 0u, true},
                       {2, 4096, {2412, 2400, 2561}, std::nullopt, false},
                       {1, k2M, {71, 71, 72}, std::nullopt, true}};
  s.geometry.second_level_hit_cycles = Estimate{6.961, 6.96, 6.97};
  s.geometry.walks = {{4096, 65536, {141, 136, 147}}};
  s.geometry.backing_page_bytes = 4096;
  s.geometry.unknown = {"TLB level 2, 2 MiB: unknown (backing 4 KiB)"};
  s.costs.first_touch_ns = {{4096, {1450, 1400, 1500}}};
  s.costs.collapse_ns = Estimate{400000, 390000, 500000};
  s.hypervisor = true;
  return s;
}

const format::TlbLevel *level(const format::MachineProfile &p, unsigned number, uint64_t page) {
  for (const format::TlbLevel &l : p.tlb)
    if (l.level == number && std::count(l.page_bytes.begin(), l.page_bytes.end(), page))
      return &l;
  return nullptr;
}

TEST(Profile, TrustsMeasuredThenPresetThenCpuid) {
  const auto p = build_profile(zen4_guest());
  EXPECT_EQ(p.name, "calibrated-zen4");
  EXPECT_EQ(level(p, 2, 4096)->entries.source, "measured");
  EXPECT_EQ(*level(p, 2, 4096)->entries.value, 2412);
  EXPECT_EQ(*level(p, 2, 4096)->entries.low, 2400);
  EXPECT_EQ(level(p, 2, 4096)->ways.source, "preset");
  EXPECT_EQ(level(p, 2, k2M)->entries.source, "preset");
  EXPECT_EQ(level(p, 2, 1u << 30)->entries.source, "preset");
  ProfileSources strange = zen4_guest();
  strange.preset = nullptr;
  EXPECT_EQ(level(build_profile(strange), 2, 1u << 30)->entries.source, "cpuid");
  EXPECT_EQ(p.reach(), 2412u);
  EXPECT_EQ(p.reach_pages.source, "measured");
  EXPECT_EQ(p.l2_hit_cycles.source, "measured");
}

// Neither a preset nor CPUID knows the processor.
TEST(Profile, AFirstLevelIsNotTheReachWhereThereIsASecond) {
  ProfileSources s = zen4_guest();
  s.preset = nullptr;
  s.cpuid.clear();
  s.geometry.levels.erase(s.geometry.levels.begin() + 1);
  EXPECT_EQ(build_profile(s).reach(), 72u);
  s.geometry.doubtful_second_level = Estimate{1431, 1347, 1516};
  const auto p = build_profile(s);
  EXPECT_EQ(p.reach(), 1431u);
  EXPECT_EQ(level(p, 2, 4096)->entries.source, "unknown");
  EXPECT_EQ(*level(p, 2, 4096)->entries.low, 1347);
  s.preset = smalloc_machine_by_name("zen4");
  EXPECT_EQ(level(build_profile(s), 2, 4096)->entries.source, "preset");
}

TEST(Profile, ComparesLatencyWithThePmu) {
  ProfileSources s = zen4_guest();
  s.counted.why = "there is no PMU here";
  EXPECT_THAT(build_profile(s).disagreements,
              testing::Contains("walk, counted by the PMU: unknown (there is no PMU here)"));
  s.counted = {150.0, 1e6, ""};
  for (const std::string &line : build_profile(s).disagreements)
    EXPECT_THAT(line, testing::Not(testing::HasSubstr("PMU"))); // close enough
  s.counted.cycles = 60;
  EXPECT_THAT(
      build_profile(s).disagreements,
      testing::Contains("walk, 4 KiB, 65536 pages: measured 141 cycles by latency, 60 by the PMU"));
}

TEST(Profile, SharedEntriesAreOneLevel) {
  const auto p = build_profile(zen4_guest());
  EXPECT_EQ(level(p, 1, 4096), level(p, 1, k2M));
  EXPECT_TRUE(level(p, 1, 4096)->shared);
  EXPECT_EQ(*level(p, 1, 4096)->ways.value, 0);
}

TEST(Profile, ShowsDisagreementsAndWhatIsUnknown) {
  const auto p = build_profile(zen4_guest());
  EXPECT_THAT(p.disagreements,
              testing::Contains("TLB level 2, 4 KiB: measured 2412 entries, preset "
                                "says 3072, cpuid says 3072"));
  EXPECT_THAT(p.disagreements, testing::Contains("TLB level 2, 2 MiB: unknown (backing 4 KiB)"));
}

TEST(Profile, FallsBackWhenNothingWasMeasured) {
  ProfileSources s = zen4_guest();
  s.geometry = {};
  s.costs = {};
  auto p = build_profile(s);
  EXPECT_EQ(p.reach(), 2048u); // the preset's effective reach
  EXPECT_EQ(p.l2_hit_cycles.source, "preset");
  EXPECT_EQ(p.walk_cost.size(), 2u);
  s.preset = nullptr;
  p = build_profile(s);
  EXPECT_EQ(level(p, 2, 4096)->entries.source, "cpuid");
  EXPECT_FALSE(p.l2_hit_cycles.value);
  s.cpuid.clear();
  EXPECT_EQ(build_profile(s).last_level(), nullptr); // the caller reports that it cannot calibrate
}

TEST(Profile, AFirstLevelAloneIsNoReachWhereASecondIsKnown) {
  ProfileSources s = zen4_guest();
  std::erase_if(s.geometry.levels, [](const LevelEstimate &l) { return l.level == 2; });
  EXPECT_EQ(build_profile(s).reach_pages.source, "preset");
}

TEST(Profile, SurvivesItsFile) {
  ProfileSources s = zen4_guest();
  s.geometry.levels[1].entries.value = 2412.5; // the median of two rounds
  const auto p = build_profile(s);
  const auto document = format::machine_document(p);
  EXPECT_EQ(format::machine_document(format::parse_machine(document.dump())), document);
}

TEST(Profile, ComparesWithTolerance) {
  const auto stored = build_profile(zen4_guest());
  ProfileSources s = zen4_guest();
  s.geometry.levels[0].entries.value = 73;
  s.geometry.levels[1].entries.value = 2300;
  s.geometry.walks[0].cycles.value = 160;
  s.costs.collapse_ns->value = 700000;
  for (const Difference &d : compare_profiles(stored, build_profile(s)))
    EXPECT_FALSE(d.significant) << d.what;
  s.geometry.levels[0].entries.value = 64;
  s.geometry.levels[1].entries.value = 1536;
  s.geometry.walks[0].cycles.value = 60;
  s.costs.collapse_ns->value = 9e6;
  s.geometry.backing_page_bytes = k2M;
  std::vector<std::string> differ;
  for (const Difference &d : compare_profiles(stored, build_profile(s)))
    if (d.significant)
      differ.push_back(d.what);
  EXPECT_THAT(differ,
              testing::ElementsAre("TLB level 1, 4 KiB: entries", "TLB level 2, 4 KiB: entries",
                                   "reach: pages", "backing: bytes",
                                   "walk, 4 KiB, 65536 pages: cycles", "collapse: ns"));
}

// Numbers of the article (Gorman 2010): 2425 samples at 1000, cost 563, 156292 samples of cycles at
// 50000. The article prints 17.57, a typing error.
TEST(MissCost, HasTheArticlesArithmetic) {
  const auto cost = miss_cost_of_counts({622512.0 * 50000, 0, 9644.0 * 1000},
                                        {621541.0 * 50000, 543702.0 * 10000, 0});
  ASSERT_TRUE(cost);
  EXPECT_NEAR(*cost, 563.8, 0.05);
  EXPECT_NEAR(translation_share(2425.0 * 1000, 563, 156292.0 * 50000), 0.1747, 0.00005);
  EXPECT_EQ(miss_cost_lines(19, 2167e6),
            "TLB_MISS_LATENCY_TIME=8.77\nTLB_MISS_LATENCY_CYCLES=19\n"
            "TLB_MISSES_COST_ONE_SECOND=114052631\nTLB_MISS_COST=19\n");
  EXPECT_EQ(translation_share(1e9, 100, 1e9), 1);
}

TEST(MissCost, RejectsRunsThatAreNotAlike) {
  EXPECT_FALSE(miss_cost_of_counts({100e9, 0, 1e6}, {110e9, 5e8, 0}));
  EXPECT_TRUE(miss_cost_of_counts({100e9, 0, 1e6}, {103e9, 5e8, 0}));
  EXPECT_FALSE(miss_cost_of_counts({100e9, 0, 0}, {100e9, 5e8, 0}));
}

TEST(MissCost, WaitsForThreeMatches) {
  const std::vector<double> latencies{10, 17, 19, 18, 25, 25, 26, 25, 99};
  std::vector<std::string> traces;
  std::vector<uint64_t> sizes;
  const auto steady = find_steady_latency(
      [&](uint64_t bytes) {
        sizes.push_back(bytes);
        return std::optional(latencies.at(sizes.size() - 1));
      },
      uint64_t{1} << 30, [&](const std::string &line) { traces.push_back(line); });
  ASSERT_TRUE(steady);
  EXPECT_EQ(steady->cycles, 25);
  EXPECT_EQ(sizes.size(), 8u);
  EXPECT_EQ(sizes[0], 13631488u);
  EXPECT_EQ(sizes[1] - sizes[0], 3932160u);
  EXPECT_THAT(traces,
              testing::Contains("Measured TLB Latency 19 cycles within tolerance. Matched 1/3"));
  double falling = 1000;
  EXPECT_FALSE(find_steady_latency([&](uint64_t) { return std::optional(falling -= 5); },
                                   uint64_t{100} << 20, [](const std::string &) {}));
}

TEST(PageCosts, FindsTheLargestCoveredStride) {
  const std::vector<StrideLatency> strides{{64, 9},    {128, 44},   {256, 43},   {512, 47},
                                           {1024, 46}, {2048, 123}, {4096, 125}, {8192, 132}};
  EXPECT_EQ(largest_covered_stride(strides, 617), 1024u);
  EXPECT_EQ(largest_covered_stride(strides, 80), 64u);
  EXPECT_EQ(largest_covered_stride(strides, 15), 0u);
  EXPECT_EQ(largest_covered_stride({}, 617), 0u);
}

TEST(PageCosts, Quartiles) {
  const Estimate e = quartiles({5, 1, 4, 2, 3});
  EXPECT_EQ(e.value, 3);
  EXPECT_EQ(e.low, 2);
  EXPECT_EQ(e.high, 4);
}

} // namespace
} // namespace smalloc::calibrate
