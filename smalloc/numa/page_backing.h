// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_backing.h decides how we learn whether 2 MiB of address space are one superpage, how such a one becomes base pages
// in place, and stays so.
#ifndef SMALLOC_NUMA_PAGE_BACKING_H
#define SMALLOC_NUMA_PAGE_BACKING_H

#include <stddef.h>
#include <stdint.h>

namespace smalloc::numa {

enum class Backing : uint8_t { kUnknown, kPages, kSuperpage };

/// By PAGEMAP_SCAN, Linux 6.7; before, kUnknown. address: of a unit. Keeps errno.
Backing backing_of(uintptr_t address);

/// Splits the superpage at this address into base pages that the kernel can move one by one: it does so when a part of a
/// superpage is advised to be cold (Linux 5.4), and nothing else comes of it than that this page is the first to be
/// considered should memory run out. 0, or an errno value: EBUSY when the superpage is still one (shared, pinned).
///
/// khugepaged would put it together again, on whichever node has most of it, so the unit is advised against superpages. That makes
/// up to two mappings more of the 65,530 that a process may have: of more than kMostAdvised units at a time the kernel may do as
/// it likes.
int split_superpage(void *address);
inline constexpr unsigned kMostAdvised = 1024;

/// The way back: base pages of one node become a superpage, and the kernel may treat the unit as it treats others that were
/// advised to be one. 0 or an errno value.
int join_pages(void *start, size_t bytes);

} // namespace smalloc::numa
#endif
