// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// process_map.h reads the placement of a running process from /proc/PID/numa_maps, which counts the
// resident pages on each node for each mapping. It costs the process only the time for which the
// kernel holds its address space's lock while counting.
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

/// Parses numa_maps; lines that make no sense are left out. O(length).
std::vector<MappingPlacement> parse_numa_maps(std::string_view text);

} // namespace smalloc::numa
