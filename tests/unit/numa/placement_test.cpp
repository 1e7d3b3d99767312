// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of hints at first touch: their words, and which part of an object goes to which node.
#include "smalloc/numa/placement.h"
#include "tests/unit/numa/fake_machine.h"

#include <gtest/gtest.h>

namespace smalloc::numa {
namespace {
Placement placement(const char *text) {
  Placement p;
  EXPECT_TRUE(parse_placement(text, p)) << text;
  return p;
}
struct PlacementTest : testing::Test {
  unsigned ranges(const char *text, size_t bytes) {
    return placed_ranges(topology, cpus, placement(text), bytes, out);
  }
  Topology topology = fake_topology(4);
  unsigned cpus[kMaxNodes] = {2, 2, 2, 2};
  PlacedRange out[kMostRanges];
};
} // namespace

TEST_F(PlacementTest, Words) {
  EXPECT_EQ(placement("").kind, PlacementKind::kNone);
  EXPECT_EQ(placement("-").kind, PlacementKind::kNone);
  EXPECT_EQ(placement("weighted").kind, PlacementKind::kWeighted);
  EXPECT_EQ(placement("preferred:12").nodes, 1u << 12);
  EXPECT_EQ(placement("preferred:0,2,5").nodes, 0x25u);
  Placement p;
  for (const char *bad :
       {"preferred", "preferred:", "preferred:x", "preferred:5000", "preferred:1,", "preferred:,1",
        "preferred:1,,2", "preferred:1-2", "Local", "node0"})
    EXPECT_FALSE(parse_placement(bad, p)) << bad;
}
TEST_F(PlacementTest, WholeObjects) {
  ASSERT_EQ(ranges("interleave", 10 * kSuperpageBytes + 5000), 1u);
  EXPECT_EQ(out[0].bytes, 10 * kSuperpageBytes + 5000);
  EXPECT_EQ(out[0].nodes, 0xfu);
  topology.node[2].memory_bytes = 0;
  ASSERT_EQ(ranges("weighted", kSuperpageBytes), 1u);
  EXPECT_EQ(out[0].nodes, 0xbu);
  ASSERT_EQ(ranges("preferred:3", kSuperpageBytes), 1u);
  EXPECT_EQ(out[0].nodes, 8u);
  EXPECT_EQ(out[0].policy, 1); // MPOL_PREFERRED
  ASSERT_EQ(ranges("preferred:0,2,3,7", kSuperpageBytes), 1u);
  EXPECT_EQ(out[0].nodes, 9u);
  EXPECT_EQ(out[0].policy, 5);                             // MPOL_PREFERRED_MANY
  ASSERT_EQ(ranges("preferred:2,3", kSuperpageBytes), 1u); // one of them has memory
  EXPECT_EQ(out[0].policy, 1);
  EXPECT_EQ(ranges("preferred:2", kSuperpageBytes), 0u); // has no memory
  EXPECT_EQ(ranges("preferred:9", kSuperpageBytes), 0u); // does not exist
  ASSERT_EQ(ranges("local", kSuperpageBytes), 1u);
  EXPECT_EQ(out[0].nodes, 0u);
  EXPECT_EQ(ranges("-", kSuperpageBytes), 0u);
}
TEST_F(PlacementTest, PartitionsMeetAtSuperpagesAndLeaveNothingOut) {
  for (const size_t bytes : {size_t{4} << 20, size_t{33} << 20, (size_t{100} << 20) + 12345}) {
    const unsigned n = ranges("partition", bytes);
    ASSERT_GE(n, 1u);
    size_t at = 0;
    for (unsigned i = 0; i < n; i++) {
      EXPECT_EQ(out[i].from, at);
      EXPECT_EQ(out[i].from % kSuperpageBytes, 0u);
      at += out[i].bytes;
    }
    EXPECT_EQ(at, bytes);
  }
  ASSERT_EQ(ranges("partition", 16 * kSuperpageBytes), 4u);
  for (unsigned i = 0; i < 4; i++) {
    EXPECT_EQ(out[i].bytes, 4 * kSuperpageBytes);
    EXPECT_EQ(out[i].nodes, uint64_t{1} << i);
  }
}
TEST_F(PlacementTest, PartitionsFollowTheProcessorsThatMayBeUsed) {
  cpus[1] = 0; // taskset
  cpus[2] = 6;
  ASSERT_EQ(ranges("partition", 10 * kSuperpageBytes), 3u);
  EXPECT_EQ(out[0].bytes, 2 * kSuperpageBytes);
  EXPECT_EQ(out[1].bytes, 6 * kSuperpageBytes);
  EXPECT_EQ(out[1].nodes, 4u);
  topology.node[2].memory_bytes = 0; // its neighbours have memory
  ASSERT_EQ(ranges("partition", 10 * kSuperpageBytes), 3u);
  EXPECT_NE(out[1].nodes, 4u);
  for (unsigned &c : cpus)
    c = 0;
  EXPECT_EQ(ranges("partition", 10 * kSuperpageBytes), 0u);
}

} // namespace smalloc::numa
