// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// supply.h decides how many superpages there are for a program that starts: free blocks of the kernel's allocator, what compaction
// may make of the rest of the memory that is available, or the free pages of a hugetlb pool.
#ifndef SMALLOC_AGENT_SUPPLY_H
#define SMALLOC_AGENT_SUPPLY_H

#include "smalloc/os/os_hooks.h"

namespace smalloc {

/// In superpages of 2 MiB.
struct Supply {
  uint64_t total = 0;   ///< what the machine has for all programs together
  uint64_t at_once = 0; ///< whole free blocks: no compaction
  uint64_t free = 0;    ///< what can be expected
};

/// pool_page_bytes 0: transparent superpages. What the kernel does not tell is 0.
Supply read_supply(const OsHooks &os, const char *procfs, const char *sysfs,
                   size_t pool_page_bytes);

/// Blocks of 2 MiB in a text like /proc/buddyinfo.
uint64_t blocks_in_buddyinfo(const char *text);

} // namespace smalloc
#endif
