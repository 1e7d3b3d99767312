// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_backing.h finds out whether 2 MiB of address space are one superpage. It splits a superpage
// into base pages in place, keeps it split, and joins it again.
#ifndef SMALLOC_NUMA_PAGE_BACKING_H
#define SMALLOC_NUMA_PAGE_BACKING_H

#include <stddef.h>
#include <stdint.h>

namespace smalloc::numa {

enum class Backing : uint8_t { kUnknown, kPages, kSuperpage };

/// Returns what backs the unit at `address`, by PAGEMAP_SCAN (Linux 6.7); kUnknown before. Keeps
/// errno.
Backing backing_of(uintptr_t address);

/// Splits the superpage at `address` into base pages that the kernel can move one by one. Advises
/// its first page as cold, at which the kernel splits a superpage (Linux 5.4). The only other
/// effect is that this page is the first to be reclaimed if memory runs out. Returns 0 or an errno
/// value: EBUSY if the superpage is still one (shared, pinned).
///
/// khugepaged would join it again, on the node that has most of it, so the unit is advised against
/// superpages. That adds up to two mappings to the 65,530 that a process may have. Beyond
/// kMostAdvised units at a time no advice is given, and khugepaged may join them.
int split_superpage(void *address);
inline constexpr unsigned kMostAdvised = 1024;

/// Joins base pages of one node to a superpage again. The kernel may then treat the unit as any
/// other unit that is advised to be one. Returns 0 or an errno value.
int join_pages(void *start, size_t bytes);

} // namespace smalloc::numa
#endif
