// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// node_units_test.cpp tests units of small objects with a NUMA hint: the place for a thread, and
// that the kernel gets the policy of each unit before its first touch.
#include "smalloc/small/node_units.h"
#include "tests/unit/core/fake_os.h"

#include <gtest/gtest.h>
#include <vector>

namespace smalloc {
namespace {
using numa::Placement;
using numa::PlacementKind;

struct Told {
  char *start;
  size_t bytes;
  int policy;
  uint64_t nodes;
};
std::vector<Told> told;
int refusal;
bool touched_before;

struct NodeUnitsTest : testing::Test {
  /// Makes three nodes with the system's numbers 0, 2, 5. The last has processors only, and lies
  /// beside the second.
  void SetUp() override {
    FakeOs::reset();
    told.clear();
    refusal = 0;
    touched_before = false;
    t.nodes = 3;
    for (unsigned n = 0; n < 3; n++) {
      t.node[n].os_id = n * 2 + (n == 2);
      t.node[n].memory_bytes = n == 2 ? 0 : size_t{1} << 30;
      for (unsigned m = 0; m < 3; m++)
        t.distance[n][m] = n == m ? 10 : n + m == 3 ? 15 : 30;
    }
    Region::Config config = FakeOs::config();
    config.mapping_limit = mapping_limit;
    ASSERT_TRUE(region.init(config, counters));
    NodeUnits::Config c;
    c.topology = &t;
    c.weight[0] = 3;
    c.weight[1] = 1;
    c.set_policy = [](void *start, size_t bytes, int policy, uint64_t nodes) {
      for (size_t i = 0; i < bytes; i += kBasePageBytes)
        touched_before |= static_cast<char *>(start)[i] != 0;
      told.push_back({static_cast<char *>(start), bytes, policy, nodes});
      return refusal;
    };
    ASSERT_TRUE(units.init(region, c));
  }
  /// Returns a unit that its first user fills.
  char *unit(unsigned place, bool superpages, size_t count = 1) {
    char *p = units.grow(place, superpages, count * kSuperpageBytes, kBasePageBytes);
    EXPECT_NE(p, nullptr);
    EXPECT_TRUE(units.pages().commit(p, count * kSuperpageBytes));
    memset(p, 1, count * kSuperpageBytes);
    return p;
  }
  uint64_t mapping_limit = 65530;
  numa::Topology t;
  Counters counters;
  Region region;
  NodeUnits units;
};
struct NodeUnitsFewMappingsTest : NodeUnitsTest {
  NodeUnitsFewMappingsTest() { mapping_limit = 16; } // two for libsmalloc
};
} // namespace

TEST_F(NodeUnitsTest, AnObjectBelongsToTheNodeOfWhoAsksForIt) {
  for (const PlacementKind kind : {PlacementKind::kLocal, PlacementKind::kPartition}) {
    EXPECT_EQ(units.place_for({kind, 0}, 0), 0u);
    EXPECT_EQ(units.place_for({kind, 0}, 1), 1u);
    EXPECT_EQ(units.place_for({kind, 0}, 2), 1u); // has no memory: its neighbour
    EXPECT_EQ(units.place_for({kind, 0}, numa::kNoNode), NodeUnits::kNoPlace);
  }
}
TEST_F(NodeUnitsTest, OrWhereTheHintSays) {
  EXPECT_EQ(units.place_for({PlacementKind::kPreferred, 1 << 2}, 0), 1u);
  EXPECT_EQ(units.place_for({PlacementKind::kPreferred, 1 << 2 | 1}, 0), 0u);
  EXPECT_EQ(units.place_for({PlacementKind::kPreferred, 1 << 2 | 1}, 2), 1u); // the nearest of them
  EXPECT_EQ(units.place_for({PlacementKind::kPreferred, 1 << 2 | 1}, numa::kNoNode), 0u);
  EXPECT_EQ(units.place_for({PlacementKind::kPreferred, 1 << 5}, 0),
            NodeUnits::kNoPlace); // no memory
  EXPECT_EQ(units.place_for({PlacementKind::kPreferred, 1 << 1}, 0),
            NodeUnits::kNoPlace); // no such node
  EXPECT_EQ(units.place_for({}, 0), NodeUnits::kNoPlace);
}
TEST_F(NodeUnitsTest, TheKernelIsToldBeforeTheFirstTouch) {
  char *a = unit(0, true), *b = unit(1, true), *c = unit(1, false, 2);
  EXPECT_FALSE(touched_before);
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0].start, a);
  EXPECT_EQ(told[0].nodes, 1u);
  EXPECT_EQ(told[1].start, b);
  EXPECT_EQ(told[1].nodes, 4u); // the system's number
  EXPECT_EQ(told[2].bytes, 2 * kSuperpageBytes);
  for (const Told &one : told)
    EXPECT_EQ(one.policy, 1); // MPOL_PREFERRED
  EXPECT_EQ(units.place_of(a + 5000), 0u);
  EXPECT_EQ(units.place_of(b), 1u);
  EXPECT_EQ(units.place_of(c + kSuperpageBytes + 100), 1u);
  EXPECT_TRUE(units.may_have_superpages(b));
  EXPECT_FALSE(units.may_have_superpages(c + kSuperpageBytes));
  EXPECT_EQ(region.slice_of(a), Slice::kNode);
}
TEST_F(NodeUnitsTest, UnitsTakeTurns) {
  unit(NodeUnits::kInterleaved, true, 3);
  unit(NodeUnits::kInterleaved, true);
  ASSERT_EQ(told.size(), 4u);
  uint64_t nodes[] = {told[0].nodes, told[1].nodes, told[2].nodes, told[3].nodes};
  EXPECT_EQ(nodes[0] | nodes[1], 5u); // both, and never the one without memory
  EXPECT_EQ(nodes[0], nodes[2]);
  EXPECT_EQ(nodes[1], nodes[3]);
  told.clear();
  for (int i = 0; i < 8; i++)
    unit(NodeUnits::kWeighted, true);
  unsigned first = 0;
  for (const Told &one : told)
    first += one.nodes == 1;
  EXPECT_EQ(first, 6u); // three times the weight
}
TEST_F(NodeUnitsTest, PagesTakeTurnsWhereThereAreNoSuperpages) {
  unit(NodeUnits::kInterleaved, false);
  unit(NodeUnits::kWeighted, false);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].policy, 3); // MPOL_INTERLEAVE
  EXPECT_EQ(told[1].policy, 6); // MPOL_WEIGHTED_INTERLEAVE
  EXPECT_EQ(told[1].nodes, 5u);
}
TEST_F(NodeUnitsTest, UnitsOfColdObjectsAreNeverCollapsed) {
  char *cold = unit(0, false), *hot = unit(0, true);
  units.pages().lower_reach(0);
  Price price;
  units.pages().promote_all(price);
  EXPECT_TRUE(FakeOs::collapsed.contains(hot));
  EXPECT_FALSE(FakeOs::collapsed.contains(cold));
  EXPECT_EQ(cold[0], 1);
  // It is not collapsed after it has been empty either.
  units.pages().decommit(cold, kSuperpageBytes);
  units.pages().commit(cold, kSuperpageBytes);
  EXPECT_EQ(units.pages().promote_all(price), 1u);
  EXPECT_FALSE(FakeOs::collapsed.contains(cold));
  EXPECT_TRUE(units.pages().check_invariants());
  EXPECT_EQ(counters.node_bytes_now.get(), 2 * kSuperpageBytes);
  EXPECT_EQ(counters.small_bytes_now.get(), 0u);
}
TEST_F(NodeUnitsTest, ARefusedPolicyIsNoRefusedObject) {
  refusal = EPERM;
  unit(1, true);
  EXPECT_EQ(counters.node_policies_refused.get(), 1u);
  EXPECT_EQ(counters.mappings.get(), 0u);
}
TEST_F(NodeUnitsFewMappingsTest, NeighboursOfOneNodeAreOneMapping) {
  for (int i = 0; i < 5; i++)
    unit(0, true);
  EXPECT_EQ(counters.mappings.get(), 1u);
  unit(1, true);
  unit(0, true); // no mapping is left
  EXPECT_EQ(counters.mappings.get(), 2u);
  EXPECT_EQ(counters.node_policies_refused.get(), 1u);
  EXPECT_EQ(told.size(), 6u);
}
TEST_F(NodeUnitsTest, WhatOutgrowsItsUnitTakesItsHintAlong) {
  EXPECT_EQ(units.placement_of(1).kind, PlacementKind::kPreferred);
  EXPECT_EQ(units.placement_of(1).nodes, 4u);
  EXPECT_EQ(units.placement_of(NodeUnits::kInterleaved).kind, PlacementKind::kInterleave);
  EXPECT_EQ(units.placement_of(NodeUnits::kWeighted).kind, PlacementKind::kWeighted);
}
} // namespace smalloc
