// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// region_table_test.cpp checks that a program's loops never skip a region that is kept, and look a
// region up again after a change.
#include "runtime/collector/region_table.h"

#include "smalloc/include/smalloc/access.h"

#include <gtest/gtest.h>

namespace smalloc::trace {
namespace {

uint64_t g_threshold;
uint64_t threshold() { return g_threshold; }

uint8_t found(uint64_t region) {
  const uint8_t *entry = region_table() + region;
  if (*entry == SMALLOC_REGION_UNKNOWN)
    find_out_region(entry, threshold);
  return *entry;
}

bool kept(uint64_t region) {
  return SMALLOC_REGION_HASH(region << SMALLOC_REGION_SHIFT) < g_threshold;
}

TEST(RegionTable, IsQuietWhereNeitherRegionIsKept) {
  ASSERT_NE(region_table(), nullptr);
  g_threshold = UINT64_MAX / 20;
  forget_regions();
  unsigned quiet = 0;
  for (uint64_t region = 0; region < 4096; region++) {
    const bool any = kept(region) || kept(region + 1);
    EXPECT_EQ(found(region) == SMALLOC_REGION_QUIET, !any) << region;
    quiet += !any;
  }
  EXPECT_GT(quiet, 3500u); // 0.95 squared is 0.90
  EXPECT_LT(quiet, 3850u);
}

TEST(RegionTable, FindsOutAgainWhatIsKept) {
  g_threshold = UINT64_MAX;
  forget_regions();
  EXPECT_NE(found(7), SMALLOC_REGION_QUIET);
  g_threshold = 0;
  EXPECT_NE(found(7), SMALLOC_REGION_QUIET) << "nobody has said that it changed";
  forget_regions();
  EXPECT_EQ(found(7), SMALLOC_REGION_QUIET);
}

// Another thread lowers the rate while a byte is filled in.
TEST(RegionTable, TakesTheLastThreshold) {
  static int asked;
  asked = 0;
  forget_regions();
  uint8_t *entry = region_table() + 9;
  find_out_region(entry, []() -> uint64_t { return asked++ ? UINT64_MAX : 0; });
  EXPECT_NE(*entry, SMALLOC_REGION_QUIET);
  EXPECT_NE(*entry, SMALLOC_REGION_UNKNOWN);
}

// An index below the first address, and an object that crosses the last one.
TEST(RegionTable, HasRoomAroundIt) {
  g_threshold = 0;
  forget_regions();
  find_out_region(region_table() - 1, threshold);
  EXPECT_EQ(region_table()[-1], SMALLOC_REGION_QUIET);
  EXPECT_EQ(found(SMALLOC_REGION_ENTRIES + 100), SMALLOC_REGION_QUIET);
}

} // namespace
} // namespace smalloc::trace
