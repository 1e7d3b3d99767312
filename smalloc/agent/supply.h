// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// supply.h estimates how many superpages a starting program can get: free blocks of the kernel's
// allocator and what compaction may make of the other available memory, or the free pages of a
// hugetlb pool.
#ifndef SMALLOC_AGENT_SUPPLY_H
#define SMALLOC_AGENT_SUPPLY_H

#include "smalloc/os/os_hooks.h"

namespace smalloc {

/// Numbers of superpages of 2 MiB.
struct Supply {
  uint64_t total = 0;   ///< of the machine, for all programs together
  uint64_t at_once = 0; ///< whole free blocks, without compaction
  uint64_t free = 0;    ///< expected
};

/// Reads the supply. pool_page_bytes 0: transparent superpages. A number that the kernel does not
/// report is 0.
Supply read_supply(const OsHooks &os, const char *procfs, const char *sysfs,
                   size_t pool_page_bytes);

/// Returns the blocks of 2 MiB in a text like /proc/buddyinfo.
uint64_t blocks_in_buddyinfo(const char *text);

} // namespace smalloc
#endif
