// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// process_map.h decides how the placement of a running process is read: /proc/PID/numa_maps, which
// counts for each mapping the resident pages on each node. It costs the process nothing but the
// time that the kernel holds its address space's lock while counting.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace smalloc::numa {

struct MappingPlacement {
  uint64_t start = 0;
  std::string policy;                    ///< default, bind:0, interleave:0-1, ...
  std::string what;                      ///< heap, stack, the file; empty: anonymous
  std::map<unsigned, uint64_t> bytes_on; ///< by the system's node number

  uint64_t bytes() const;
};

/// Lines that make no sense are left out. O(length).
std::vector<MappingPlacement> parse_numa_maps(std::string_view text);

} // namespace smalloc::numa
