// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel_view.h decides what the kernel is asked about our memory: /proc/self/smaps, by heap, read
// in pieces through a fixed buffer. Our own account says what was asked for, this what was given.
#ifndef SMALLOC_PAGES_KERNEL_VIEW_H
#define SMALLOC_PAGES_KERNEL_VIEW_H

#include "smalloc/include/smalloc/live.h"

namespace smalloc {

struct KernelView {
  struct Heap {
    uint64_t resident_bytes, superpage_bytes; ///< hugetlb pages count in both
  };
  Heap heaps[SMALLOC_LIVE_HEAPS] = {}; ///< in the order of `heaps`
  Heap total = {};
  uint64_t mappings_ours = 0, mappings_all = 0;
  bool known = false; ///< false: no /proc
};

/// O(mappings of the process). Allocates nothing.
KernelView ask_kernel(const smalloc_live_heap *heaps, uint32_t count);

} // namespace smalloc
#endif
