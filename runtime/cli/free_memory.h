// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// free_memory.h decides what is said of the memory that is free: how much of it could be superpages as it lies, and how much lies in
// smaller pieces. Base pages come out of these first, and under a hypervisor that backs memory with small pages their walks may take several
// times as long as those of whole blocks (docs/evaluation.md).
#pragma once

#include "runtime/cli/system_view.h"

#include <cstdint>
#include <optional>

namespace smalloc::cli {

struct FreeMemory {
  uint64_t superpage_bytes = 0;
  uint64_t superpages = 0;      // in one piece each
  uint64_t bytes_in_pieces = 0; // the rest
};

// By /proc/buddyinfo; none where it cannot be read.
std::optional<FreeMemory> free_memory(const SystemView &system);

} // namespace smalloc::cli
