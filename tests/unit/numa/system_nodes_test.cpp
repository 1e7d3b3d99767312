// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the kernel's files about nodes: gaps in the numbers, nodes without processors or memory,
// and malformed contents.
#include "smalloc/files/system_file.h"
#include "smalloc/numa/system_nodes.h"

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace smalloc::numa {
namespace {
std::map<std::string, std::string> files;
long read_file(const char *path, char *buffer, size_t capacity) {
  const auto found = files.find(path);
  if (found == files.end())
    return -1;
  const size_t n = std::min(capacity - 1, found->second.size());
  memcpy(buffer, found->second.data(), n);
  buffer[n] = 0;
  return static_cast<long>(n);
}
void node(unsigned id, const std::string &cpus, unsigned long kilobytes,
          const std::string &distance) {
  const std::string folder = "/s/devices/system/node/node" + std::to_string(id) + "/";
  files[folder + "cpulist"] = cpus + "\n";
  files[folder + "distance"] = distance + "\n";
  files[folder + "meminfo"] = "\nNode 0 MemTotal:       " + std::to_string(kilobytes) +
                              " kB\nNode 0 MemFree:        " + std::to_string(kilobytes / 2) +
                              " kB\n";
}
struct SystemNodes : testing::Test {
  void SetUp() override { files.clear(); }
  Topology t;
};
std::vector<unsigned> list(const char *text, bool good = true) {
  std::vector<unsigned> numbers;
  EXPECT_EQ(for_each_in_list(
                text,
                [](unsigned n, void *v) { static_cast<std::vector<unsigned> *>(v)->push_back(n); },
                &numbers),
            good)
      << text;
  return numbers;
}
} // namespace

TEST_F(SystemNodes, ListsOfNumbers) {
  EXPECT_EQ(list("0-2,5\n"), (std::vector<unsigned>{0, 1, 2, 5}));
  EXPECT_EQ(list("\n"), std::vector<unsigned>());
  EXPECT_EQ(list("7"), std::vector<unsigned>{7});
  list("x", false);
  list("1-", false);
  list("1;2", false);
}
TEST_F(SystemNodes, GapsAndNodesOfMemoryOnly) {
  files["/s/devices/system/node/online"] = "0,8-9\n";
  node(0, "0-3", 1000, "10 21 40");
  node(8, "4,6", 1000, "21 10 40");
  node(9, "", 5000, "40 40 10");
  ASSERT_TRUE(read_nodes(read_file, "/s", t));
  ASSERT_EQ(t.nodes, 3u);
  EXPECT_EQ(t.node[1].os_id, 8u);
  EXPECT_EQ(t.node[1].cpus, 2u);
  EXPECT_EQ(t.node[2].cpus, 0u);
  EXPECT_EQ(t.node_of_cpu[6], 1);
  EXPECT_EQ(t.node_of_cpu[5], kNoNode);
  EXPECT_EQ(t.distance[0][1], 21);
  EXPECT_EQ(t.distance[2][2], 10);
  EXPECT_EQ(t.node[2].memory_bytes, 5000u * 1024);
  EXPECT_EQ(t.node[2].free_bytes, 2500u * 1024);
  EXPECT_EQ(read_free_bytes(read_file, "/s", 8), 500u * 1024);
  EXPECT_EQ(read_free_bytes(read_file, "/s", 7), 0u);
}
TEST_F(SystemNodes, WhatIsMissingIsAssumed) {
  EXPECT_FALSE(read_nodes(read_file, "/s", t));
  files["/s/devices/system/node/online"] = "0-1\n";
  ASSERT_TRUE(read_nodes(read_file, "/s", t));
  EXPECT_EQ(t.distance[0][1], 20);
  EXPECT_EQ(t.distance[1][1], 10);
  EXPECT_FALSE(t.has_memory(0));
  files["/s/devices/system/node/online"] = "nonsense\n";
  EXPECT_FALSE(read_nodes(read_file, "/s", t));
}
TEST_F(SystemNodes, NoMoreNodesThanARecordHolds) {
  files["/s/devices/system/node/online"] = "0-200\n";
  ASSERT_TRUE(read_nodes(read_file, "/s", t));
  EXPECT_EQ(t.nodes, kMaxNodes);
}
TEST_F(SystemNodes, ThisSystem) {
  if (!read_nodes(read_system_file, "/sys", t))
    GTEST_SKIP() << "this kernel has no NUMA support";
  unsigned cpus = 0;
  for (unsigned n = 0; n < t.nodes; n++)
    cpus += t.node[n].cpus;
  EXPECT_GE(cpus, 1u);
  EXPECT_GT(t.node[0].memory_bytes, read_free_bytes(read_system_file, "/sys", t.node[0].os_id));
}

} // namespace smalloc::numa
