// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel_view.h reads from /proc/self/smaps what the kernel has given to each heap, in pieces
// through a fixed buffer. libsmalloc's own counters record what it requested; this is what it got.
#ifndef SMALLOC_PAGES_KERNEL_VIEW_H
#define SMALLOC_PAGES_KERNEL_VIEW_H

#include "smalloc/include/smalloc/live.h"

namespace smalloc {

struct KernelView {
  struct Heap {
    uint64_t resident_bytes, superpage_bytes; ///< hugetlb pages count in both
  };
  Heap heaps[SMALLOC_LIVE_HEAPS] = {}; ///< in the order of ask_kernel()'s `heaps`
  Heap total = {};
  uint64_t mappings_of_heaps = 0, mappings_all = 0;
  bool known = false; ///< false: no /proc
};

/// Reads the kernel's view of the heaps. O(mappings of the process). Allocates nothing.
KernelView ask_kernel(const smalloc_live_heap *heaps, uint32_t count);

} // namespace smalloc
#endif
