// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mapped_sites.h records memory that the program maps itself (mmap, numa_alloc) at a site of the
// plugin. A mapping is recorded as an allocation. It is recorded again when it is moved or when one
// of its ends is unmapped (a program that aligns maps too much and trims it). It is recorded as
// freed when nothing is left. Holes in the middle are not recorded.
// Inside the traced process: no malloc, no C++ runtime; errno is left alone.
#ifndef RUNTIME_COLLECTOR_MAPPED_SITES_H
#define RUNTIME_COLLECTOR_MAPPED_SITES_H

#include <stddef.h>

struct smalloc_cell;

namespace smalloc::trace {

/// Most mappings followed at a time. Further ones are recorded as allocations that are never freed.
/// The trace's reader drops them when something new lies at their addresses.
inline constexpr unsigned kMostMappings = 1024;

/// Records that `bytes` are mapped at `p` by the site of `cell`. All three functions: only while
/// recording; linear in the live mappings of sites. They take no lock that a fork or a signal could
/// leave closed. If the table stays in use, note_mapped() records an allocation that is never
/// freed, and the others record nothing.
void note_mapped(const void *p, size_t bytes, const smalloc_cell *cell);
/// Records that a range is unmapped; call it before munmap.
void note_unmapped(const void *p, size_t bytes);
/// Records that mremap has moved or resized [old, old + old_bytes) to p; call it after mremap.
void note_remapped(const void *old, size_t old_bytes, const void *p, size_t bytes);

} // namespace smalloc::trace
#endif
