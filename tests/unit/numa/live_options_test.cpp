// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of the NUMA keys of SMALLOC_CONF: each key, its limits, and what is skipped.
#include "smalloc/numa/live_options.h"

#include <gtest/gtest.h>

namespace smalloc::numa {
namespace {
LiveOptions parse(const char *conf) {
  LiveOptions o;
  parse_live_options(Text(conf), o);
  return o;
}
} // namespace

TEST(LiveOptions, DefaultsAreThePapers) {
  const LiveOptions o = parse("");
  EXPECT_EQ(o.mode, NumaMode::kOff);
  EXPECT_EQ(o.interval_ms, 5000u);
  EXPECT_EQ(o.sample_period, 1024u);
}
TEST(LiveOptions, EveryKey) {
  const LiveOptions o =
      parse("heap:split,numa:migrate,numa_source:clock,numa_interval:0.25,numa_sample:64,"
            "numa_reserve:16m,numa_log:/l,numa_replay:/r,nonsense");
  EXPECT_EQ(o.mode, NumaMode::kMigrate);
  EXPECT_EQ(o.source, CountSource::kClock);
  EXPECT_EQ(o.interval_ms, 250u);
  EXPECT_EQ(o.sample_period, 64u);
  EXPECT_EQ(o.reserve_bytes, uint64_t{16} << 20);
  EXPECT_STREQ(o.log, "/l");
  EXPECT_STREQ(o.replay, "/r");
  EXPECT_EQ(parse("numa:migrate,numa:place").mode, NumaMode::kPlace);
}
TEST(LiveOptions, IntervalsAreSeconds) {
  EXPECT_EQ(parse("numa_interval:50").interval_ms, 50000u);
  EXPECT_EQ(parse("numa_interval:0.1").interval_ms, 100u);
  EXPECT_EQ(parse("numa_interval:1.005").interval_ms, 1005u);
  for (const char *bad : {"numa_interval:0", "numa_interval:0.099", "numa_interval:50.001",
                          "numa_interval:1.0005", "numa_interval:.5", "numa_interval:x",
                          "numa_interval:", "numa_interval:99999999999999999999"})
    EXPECT_EQ(parse(bad).interval_ms, 5000u) << bad;
}
TEST(LiveOptions, BadValuesChangeNothing) {
  for (const char *bad :
       {"numa:yes", "numa", "numa_sample:0", "numa_reserve:65t", "numa_source:tlb", "numa_log:"}) {
    const LiveOptions o = parse(bad);
    EXPECT_EQ(o.mode, NumaMode::kOff) << bad;
    EXPECT_EQ(o.sample_period, 1024u);
    EXPECT_EQ(o.reserve_bytes, uint64_t{64} << 20);
    EXPECT_EQ(o.source, CountSource::kAuto);
    EXPECT_STREQ(o.log, "");
  }
}

} // namespace smalloc::numa
