// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/trace/sampled_event.h"

#include <gtest/gtest.h>

namespace smalloc::trace {
namespace {

TEST(SampledEvent, ReadsWhatTheCommandWrites) {
  SampledEvent e;
  ASSERT_TRUE(parse_event("misses/4/20d1/ff/2/3f1", e));
  EXPECT_EQ(e.kind, SampleKind::kMisses);
  EXPECT_EQ(e.type, 4u);
  EXPECT_EQ(e.config, 0x20d1u);
  EXPECT_EQ(e.config1, 0xffu);
  EXPECT_EQ(e.precise, 2u);
  EXPECT_EQ(e.period, 0x3f1u);
  ASSERT_TRUE(parse_event("faults/1/2/0/0/1", e));
  EXPECT_EQ(e.kind, SampleKind::kFaults);
  ASSERT_TRUE(parse_event("ibs/b/80000/0/0/10000", e));
  EXPECT_EQ(e.kind, SampleKind::kIbs);
  ASSERT_TRUE(parse_event("spe/c/600010000/0/0/10000", e));
  EXPECT_EQ(e.kind, SampleKind::kSpe);
}

TEST(SampledEvent, RefusesEverythingElse) {
  SampledEvent e;
  for (const char *text :
       {"", "misses", "misses/", "misses/4/20d1/0/2", "misses/4/20d1/0/2/", "miss/4/1/0/2/1",
        "misses/4/20d1/0/2/0", "misses/4/20d1/0/4/1", "misses/4/20d1/0/2/1/7",
        "misses/100000000/1/0/2/1", "misses/x/1/0/2/1", "/4/1/0/2/1"})
    EXPECT_FALSE(parse_event(text, e)) << text;
}

} // namespace
} // namespace smalloc::trace
