// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/numa/process_map.h"

#include <gtest/gtest.h>

namespace smalloc::numa {

TEST(ProcessMap, ReadsMappingsAndTheirNodes) {
  const auto maps = parse_numa_maps(
      "55d0 default file=/usr/bin/cat mapped=3 N0=3 kernelpagesize_kB=4\n"
      "7f0000000000 interleave:0-1 anon=768 dirty=768 N0=512 N1=256 kernelpagesize_kB=4\n"
      "7f1000000000 bind:2 huge anon=3 dirty=3 N2=3 kernelpagesize_kB=2048\n"
      "7ffc default stack anon=2 dirty=2 N1=2 kernelpagesize_kB=4\n"
      "7ffd default\n");
  ASSERT_EQ(maps.size(), 5u);
  EXPECT_EQ(maps[0].what, "/usr/bin/cat");
  EXPECT_EQ(maps[1].start, 0x7f0000000000u);
  EXPECT_EQ(maps[1].policy, "interleave:0-1");
  EXPECT_EQ(maps[1].bytes_on.at(0), 512u * 4096);
  EXPECT_EQ(maps[1].bytes_on.at(1), 256u * 4096);
  EXPECT_EQ(maps[1].bytes(), 768u * 4096);
  EXPECT_EQ(maps[2].bytes_on.at(2), uint64_t{6} << 20);
  EXPECT_EQ(maps[3].what, "stack");
  EXPECT_EQ(maps[4].bytes(), 0u);
}

TEST(ProcessMap, LeavesOutWhatMakesNoSense) {
  EXPECT_TRUE(parse_numa_maps("").empty());
  EXPECT_TRUE(parse_numa_maps("xyz default N0=1\n\n12\n").empty());
  const auto maps = parse_numa_maps("12 default N0=x Nq=4 N99999=1 =3 anon=");
  ASSERT_EQ(maps.size(), 1u);
  EXPECT_EQ(maps[0].bytes(), 0u);
}

} // namespace smalloc::numa
