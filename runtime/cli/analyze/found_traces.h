// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// found_traces.h finds the traces that a recorded command has left behind. Other traces may have
// names of the same pattern: earlier ones, and those of other commands.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace smalloc::cli {

struct FoundTraces {
  std::vector<std::string> traces; // of processes that have ended, with more than a header
  size_t running = 0;              // processes that still write a trace
  size_t running_children = 0;     // of these, the forked ones
};

// Looks at the traces that were written since `start`, of processes that began at `began_ns` (since
// 1970) or later. Removes those without an event.
FoundTraces find_traces(const std::string &pattern, std::filesystem::file_time_type start,
                        uint64_t began_ns);

} // namespace smalloc::cli
