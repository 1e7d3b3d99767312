// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/benefit/cost_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

using namespace smalloc;
using benefit::CostModel;
using benefit::Walk;

namespace {

double miss_cycles(const CostModel &model, uint64_t page_bytes, double pages,
                   Walk walk = Walk::kWaited) {
  return model.walk_curve(page_bytes, walk).at(pages);
}

TEST(CostModel, ReadsAPreset) {
  const CostModel zen4(format::profile_of_preset(*smalloc_machine_by_name("zen4")));
  EXPECT_EQ(zen4.base().entries, 3072u);
  EXPECT_EQ(zen4.superpage().entries, 3072u);
  const CostModel core2(format::profile_of_preset(*smalloc_machine_by_name("core2")));
  EXPECT_EQ(core2.base().entries, 256u);
  EXPECT_EQ(core2.base().ways, 4u);
  EXPECT_EQ(core2.superpage().entries, 32u);
}

TEST(CostModel, WalksGetDearerWithThePages) {
  const CostModel zen4(format::profile_of_preset(*smalloc_machine_by_name("zen4")));
  EXPECT_EQ(miss_cycles(zen4, 4096, 1), 35);
  EXPECT_EQ(miss_cycles(zen4, 4096, 1 << 16), 35);
  // half way by the logarithm
  EXPECT_NEAR(miss_cycles(zen4, 4096, 1 << 19), (35 + 89) / 2.0, 0.01);
  EXPECT_EQ(miss_cycles(zen4, 4096, 1e9), 89);
  EXPECT_EQ(miss_cycles(zen4, 2 << 20, 1000), 35);
}

TEST(CostModel, MeasuredPointsWin) {
  const auto profile = format::parse_machine(
      R"({"schema": "smalloc.machine/1", "name": "m", "frequency_hz": 2e9,
          "tlb": [{"level": 1, "kind": "data", "page_bytes": [4096, 2097152], "entries": 64,
                   "ways": 0},
                  {"level": 2, "kind": "data", "page_bytes": [4096, 2097152], "entries": 1000,
                   "ways": 10, "shared": true}],
          "walk_cost": [{"page_bytes": 4096, "pages": 100, "cycles": 40},
                        {"page_bytes": 2097152, "cycles": 20}],
          "first_touch_ns": [{"page_bytes": 4096, "value": 1000}]})");
  const CostModel model(profile);
  EXPECT_TRUE(model.shared());
  EXPECT_EQ(model.base().entries, 1000u);
  EXPECT_EQ(miss_cycles(model, 2 << 20, 5), 20);
  EXPECT_EQ(model.fault_cycles(4096), 2000);
  EXPECT_GT(model.fault_cycles(2 << 20), 100000); // unknown: clearing 2 MiB takes time
}

// Only the least and the greatest count, as at 65,536 and 4,194,304 pages. They do not count if
// another cost belongs to a number of pages.
TEST(CostModel, PointsWithoutPages) {
  auto profile = format::profile_of_preset(*smalloc_machine_by_name("zen4"));
  profile.walk_cost = {{4096, {}, {50.0, {}, {}, "measured"}},
                       {4096, {}, {90.0, {}, {}, "measured"}},
                       {4096, {}, {30.0, {}, {}, "measured"}}};
  EXPECT_EQ(miss_cycles(CostModel(profile), 4096, 1), 30);
  EXPECT_EQ(miss_cycles(CostModel(profile), 4096, 1 << 16), 30);
  EXPECT_NEAR(miss_cycles(CostModel(profile), 4096, 1 << 19), 60, 0.01);
  EXPECT_EQ(miss_cycles(CostModel(profile), 4096, 1e9), 90);
  profile.walk_cost.push_back({4096, 100, {40.0, {}, {}, "measured"}});
  EXPECT_EQ(miss_cycles(CostModel(profile), 4096, 1), 40);
  EXPECT_EQ(miss_cycles(CostModel(profile), 4096, 1e9), 40);
}

TEST(CostModel, WalksThatOverlapHaveACurveOfTheirOwn) {
  auto profile = format::profile_of_preset(*smalloc_machine_by_name("zen4"));
  const CostModel without(profile);
  EXPECT_FALSE(without.knows_overlapped());
  EXPECT_EQ(miss_cycles(without, 4096, 1, Walk::kOverlapped), 35);
  profile.overlapped_walk_cost = {{4096, 100, {8.0, {}, {}, "measured"}},
                                  {4096, 400, {16.0, {}, {}, "measured"}}};
  const CostModel with(profile);
  EXPECT_TRUE(with.knows_overlapped());
  EXPECT_EQ(miss_cycles(with, 4096, 1, Walk::kOverlapped), 8);
  EXPECT_NEAR(miss_cycles(with, 4096, 200, Walk::kOverlapped), 12, 0.01);
  EXPECT_EQ(miss_cycles(with, 2 << 20, 1e9, Walk::kOverlapped), 16);
  EXPECT_EQ(miss_cycles(with, 4096, 1), 35);
  EXPECT_FALSE(with.knows_near());
  EXPECT_EQ(miss_cycles(with, 4096, 1, Walk::kNear), 8);
  profile.overlapped_near_walk_cost = {{4096, 100, {11.0, {}, {}, "measured"}}};
  const CostModel near(profile);
  EXPECT_TRUE(near.knows_near());
  EXPECT_EQ(miss_cycles(near, 4096, 1, Walk::kNear), 11);
  EXPECT_EQ(miss_cycles(near, 4096, 1, Walk::kOverlapped), 8);
}

// If the host has smaller pages, superpages miss as often. The measured cost of a walk is then what
// base pages' walks take longer.
TEST(CostModel, SuperpagesOnASmallerBackingMissForNothing) {
  auto profile = format::profile_of_preset(*smalloc_machine_by_name("zen4"));
  profile.walk_cost = {{4096, 100, {40.0, {}, {}, "measured"}}};
  EXPECT_EQ(miss_cycles(CostModel(profile), 2 << 20, 5), 40);
  profile.backing_page_bytes.value = 2 << 20;
  EXPECT_EQ(miss_cycles(CostModel(profile), 2 << 20, 5), 40);
  profile.backing_page_bytes.value = 4096;
  EXPECT_EQ(miss_cycles(CostModel(profile), 2 << 20, 5), 0);
  EXPECT_EQ(miss_cycles(CostModel(profile), 2 << 20, 5, Walk::kOverlapped), 0);
  EXPECT_EQ(miss_cycles(CostModel(profile), 1 << 30, 5), 0);
  EXPECT_EQ(miss_cycles(CostModel(profile), 4096, 5), 40);
  EXPECT_EQ(miss_cycles(CostModel(profile), 1 << 16, 5), 40);
  profile.walk_cost = {{4096, 100, {40.0, {}, {}, "measured"}},
                       {2 << 20, 100, {7.0, {}, {}, "measured"}}};
  EXPECT_EQ(miss_cycles(CostModel(profile), 2 << 20, 5), 7); // a known cost takes precedence
  profile.walk_cost = {{4096, 100, {40.0, {}, {}, "preset"}}};
  EXPECT_EQ(miss_cycles(CostModel(profile), 2 << 20, 5), 40); // the whole walk
  profile.walk_cost = {{4096, {}, {40.0, {}, {}, "measured"}}};
  EXPECT_EQ(miss_cycles(CostModel(profile), 2 << 20, 5), 40); // as counted by the PMU
}

// The distances of random accesses to n pages are spread evenly below n: on average they cost what
// was measured for n.
TEST(CostModel, RandomAccessesCostOnAverageWhatWasMeasured) {
  const benefit::WalkCurve curve({{1024, 10}, {4096, 20}, {16384, 30}});
  for (auto [pages, cycles] : {std::pair(4096., 20.), {8192., 25.}, {16384., 30.}}) {
    double sum = 0;
    for (double d = 0.5; d < pages; d++)
      sum += curve.at_distance(d);
    EXPECT_NEAR(sum / pages, cycles, 0.5) << pages; // constant below the first point
  }
  // Also where the curve is not straight.
  const benefit::WalkCurve bent({{1, 0}, {1024, 10}, {4096, 20}, {16384, 60}});
  double sum = 0;
  for (double d = 0.5; d < 16384; d++)
    sum += bent.at_distance(d);
  EXPECT_NEAR(sum / 16384, 60, 0.5);
  // Beyond the last point: once the growth, and no more.
  EXPECT_EQ(curve.at_distance(1e9), 30 + 10 / std::log(4.0));
  // At most by a half.
  EXPECT_EQ(benefit::WalkCurve({{1024, 10}, {2048, 30}}).at_distance(1e9), 45);
  EXPECT_EQ(benefit::WalkCurve({{65536, 40}, {66000, 42}}).at_distance(1e9), 42);
  EXPECT_EQ(benefit::WalkCurve({{1, 40}, {1, 60}}).at_distance(1e9), 60);
  // One point has no growth.
  EXPECT_EQ(benefit::WalkCurve({{1024, 10}}).at_distance(1e9), 10);
  // A falling curve stays at its last value.
  EXPECT_EQ(benefit::WalkCurve({{1, 20}, {64, 10}}).at_distance(1e9), 10);
}

// A loop over 4096 pages has all of them between two uses of one, each time.
TEST(CostModel, PagesInTurnCostWhatWasMeasuredOfAsMany) {
  const benefit::WalkCurve curve({{1024, 10}, {4096, 20}, {16384, 30}});
  EXPECT_EQ(curve.at_distance(4096, 0), 20);
  EXPECT_EQ(curve.at_distance(1e9, 0), 30);
  EXPECT_NEAR(curve.at_distance(4096, 0.5), 20 + 5 / std::log(4.0), 1e-9);
  EXPECT_EQ(curve.at_distance(4096, 3), curve.at_distance(4096));
}

// 4 KiB at 8 GB/s take 512 ns, as much of a superpage at 10 GB/s 409.6 ns. The difference of 102.4
// ns is 204.8 cycles at 2 GHz.
TEST(CostModel, AStreamPaysForPagesWhatItsBandwidthLoses) {
  auto profile = format::profile_of_preset(*smalloc_machine_by_name("zen4"));
  profile.frequency_hz = 2e9;
  profile.overlapped_walk_cost = {{4096, 100, {8.0, {}, {}, "measured"}}};
  EXPECT_EQ(miss_cycles(CostModel(profile), 4096, 1, Walk::kSequential), 8); // not measured
  profile.bandwidth_bytes_per_second = {{4096, {8e9, {}, {}, "measured"}}};
  EXPECT_EQ(miss_cycles(CostModel(profile), 4096, 1, Walk::kSequential),
            8); // nothing to compare with
  profile.bandwidth_bytes_per_second.push_back({2 << 20, {10e9, {}, {}, "measured"}});
  const CostModel with(profile);
  EXPECT_NEAR(miss_cycles(with, 4096, 1, Walk::kSequential), 204.8, 0.01);
  EXPECT_NEAR(miss_cycles(with, 4096, 1, benefit::sequential(4)), 51.2, 0.01);
  EXPECT_EQ(miss_cycles(with, 2 << 20, 1, Walk::kSequential), 0);
  profile.bandwidth_bytes_per_second.push_back({1 << 30, {9.9e9, {}, {}, "measured"}});
  EXPECT_EQ(miss_cycles(CostModel(profile), 1 << 30, 1, Walk::kSequential),
            0); // nor more for larger pages
  EXPECT_EQ(miss_cycles(with, 64 << 10, 1, Walk::kSequential), 8);
  EXPECT_EQ(miss_cycles(with, 4096, 1, Walk::kOverlapped), 8);
  profile.bandwidth_bytes_per_second[0].value.value =
      11e9; // noise: nothing to gain, and nothing to lose
  EXPECT_EQ(miss_cycles(CostModel(profile), 4096, 1, Walk::kSequential), 0);
}

TEST(CostModel, PageSizesThatTheTlbHas) {
  using enum benefit::PageSize;
  const CostModel zen4(format::profile_of_preset(*smalloc_machine_by_name("zen4")));
  EXPECT_TRUE(zen4.has(kBase) && zen4.has(kSuper) && zen4.has(kGigantic));
  EXPECT_FALSE(zen4.has(kMedium));
  EXPECT_EQ(zen4.array(kGigantic).entries, 64u);
  EXPECT_EQ(zen4.owner(kGigantic), kGigantic);
  const auto profile = format::parse_machine(
      R"({"schema": "smalloc.machine/1", "name": "m",
          "tlb": [{"level": 1, "kind": "data", "page_bytes": [4096, 65536, 1073741824],
                   "entries": 48, "ways": 0, "shared": true},
                  {"level": 2, "kind": "data", "page_bytes": [65536, 2097152], "entries": 1280,
                   "ways": 5, "shared": true}],
          "first_touch_ns": [{"page_bytes": 4096, "value": 500},
                             {"page_bytes": 2097152, "value": 51600}]})");
  const CostModel mixed(profile);
  EXPECT_EQ(mixed.owner(kGigantic), kBase); // the first level is all that they have
  EXPECT_EQ(mixed.owner(kMedium), kMedium);
  EXPECT_EQ(mixed.owner(kSuper), kMedium);
  EXPECT_EQ(mixed.array(kMedium).entries, 1280u);
  EXPECT_FALSE(mixed.shared());
  // 100 ns for each 4 KiB more.
  EXPECT_NEAR(mixed.fault_cycles(65536) / mixed.frequency_hz(), 2000e-9, 1e-12);
  EXPECT_NEAR(mixed.fault_cycles(1 << 30) / mixed.frequency_hz(), 26214800e-9, 1e-9);
}

} // namespace
