// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/numa/topology_source.h"

#include <cstdlib>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace smalloc::numa {
namespace {

const char kHbm[] = R"({"schema": "smalloc.topology/1",
  "nodes": [{"id": 0, "cpus": [0, 1], "memory_bytes": 1000000},
            {"id": 4, "cpus": [2], "memory_bytes": 2000000, "free_bytes": 5},
            {"id": 8, "memory_bytes": 500000, "bandwidth_bytes_per_second": 4e11}],
  "distance": [[10, 21, 15], [21, 10, 31], [15, 31, 10]],
  "latency_ns": [[90, 190, 120], [190, 90, 240], [120, 240, 110]]})";

std::string why(const std::string &text) {
  try {
    parse_topology(text);
  } catch (const TopologyError &error) {
    return error.what();
  }
  return "accepted";
}

} // namespace

TEST(TopologySource, ReadsNodesWithGapsAndMemoryOnlyNodes) {
  Topology t = parse_topology(kHbm);
  ASSERT_EQ(t.nodes, 3u);
  EXPECT_EQ(t.node[1].os_id, 4u);
  EXPECT_EQ(t.node[0].cpus, 2u);
  EXPECT_EQ(t.node[2].cpus, 0u);
  EXPECT_EQ(t.node[1].free_bytes, 5u);
  EXPECT_EQ(t.node[2].free_bytes, 500000u); // not reported: all of it
  EXPECT_EQ(t.node_of_cpu[2], 1);
  EXPECT_EQ(t.node_of_cpu[3], kNoNode);
  EXPECT_EQ(t.distance[1][2], 31);
  EXPECT_DOUBLE_EQ(t.latency(0, 1), 190);
}

TEST(TopologySource, TakesDistancesForLatenciesThatNobodyKnows) {
  Topology t = parse_topology(R"({"schema": "smalloc.topology/1",
    "nodes": [{"cpus": [0], "memory_bytes": 1}, {"cpus": [1], "memory_bytes": 1}],
    "distance": [[10, 17], [17, 10]]})");
  EXPECT_DOUBLE_EQ(t.latency(0, 1) / t.latency(0, 0), 1.7);
}

TEST(TopologySource, PrintsWhatItReads) {
  const Topology t = parse_topology(kHbm);
  const std::string text = topology_document(t).dump();
  EXPECT_EQ(topology_document(parse_topology(text)).dump(), text);
}

TEST(TopologySource, NamesWhatIsWrong) {
  EXPECT_EQ(why("{"), "it is not JSON");
  EXPECT_EQ(why("{}"), "key 'schema' is not \"smalloc.topology/1\"");
  const std::string head = R"({"schema": "smalloc.topology/1", "nodes": )";
  EXPECT_EQ(why(head + "[]}"), "key 'nodes' is not a list of 1 to 63 nodes");
  EXPECT_EQ(why(head + R"([{"cpus": [0]}]})"), "no node has memory ('memory_bytes')");
  EXPECT_EQ(why(head + R"([{"memory_bytes": -1}]})"),
            "key 'nodes[0].memory_bytes' is negative or too large");
  EXPECT_EQ(why(head + R"([{"memory_bytes": 1, "cpus": [0]}, {"cpus": [0]}]})"),
            "key 'nodes[1].cpus' names a processor that another node has");
  EXPECT_EQ(why(head + R"([{"memory_bytes": 1, "cpus": [99999]}]})"),
            "key 'nodes[0].cpus' holds what is no number below 1024");
  EXPECT_EQ(why(head + R"([{"memory_bytes": 1}], "distance": [[10, 20]]})"),
            "key 'distance[0]' does not have a number for each node");
  EXPECT_EQ(why(head + R"([{"memory_bytes": 1}], "distance": [[9]]})"),
            "key 'distance[0][0]' is not a number from 10 to 254");
}

// hwloc simulates another machine: two packages with two nodes each, three processors a node.
TEST(TopologySource, AsksHwlocForThisSystem) {
  setenv("HWLOC_SYNTHETIC", "pack:2 numa:2(memory=1073741824) core:3 pu:1", 1);
  Topology t = system_topology();
  unsetenv("HWLOC_SYNTHETIC");
  ASSERT_EQ(t.nodes, 4u);
  for (unsigned n = 0; n < 4; n++) {
    EXPECT_EQ(t.node[n].cpus, 3u);
    EXPECT_EQ(t.node[n].memory_bytes, uint64_t{1} << 30);
  }
  EXPECT_EQ(t.node_of_cpu[11], 3);
  EXPECT_GT(t.latency(0, 3), t.latency(0, 0));
  // Also reads this machine, whatever it is.
  t = system_topology();
  EXPECT_GE(t.nodes, 1u);
  EXPECT_GT(t.node[0].memory_bytes, 0u);
}

} // namespace smalloc::numa
