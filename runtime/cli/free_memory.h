// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// free_memory.h reports the free memory: how much is in free superpages and how much in smaller
// pieces. The kernel takes base pages from the smaller pieces first. Under a hypervisor that backs
// memory with small pages, walks of these may take several times as long as walks of whole blocks
// (docs/evidence/evaluation.md).
#pragma once

#include "runtime/cli/system_view.h"

#include <cstdint>
#include <optional>

namespace smalloc::cli {

struct FreeMemory {
  uint64_t superpage_bytes = 0;
  uint64_t superpages = 0;      // free in one piece each
  uint64_t bytes_in_pieces = 0; // free memory in smaller pieces
};

// Reads /proc/buddyinfo; returns nothing if it cannot be read.
std::optional<FreeMemory> free_memory(const SystemView &system);

} // namespace smalloc::cli
