// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mapped_sites.h decides what a recording tells of memory that the program maps itself (mmap, numa_alloc) at a site of the
// plugin's: an allocation of what is mapped, again when one of its ends is unmapped (who aligns, maps too much and trims it) or
// when it is moved, and a free when nothing is left. Holes in the middle are not told.
// Inside the traced process: no malloc, no C++ runtime; errno is left alone.
#ifndef RUNTIME_COLLECTOR_MAPPED_SITES_H
#define RUNTIME_COLLECTOR_MAPPED_SITES_H

#include <stddef.h>

struct smalloc_cell;

namespace smalloc::trace {

/// More at a time are allocations that are never freed; the trace's reader drops what lies where something new is.
inline constexpr unsigned kMostMappings = 1024;

/// Each only while recording. Linear in the mappings of sites that are there; takes no lock that a fork or a signal could leave
/// closed: who finds the table in use for long leaves, and an event is missing.
void note_mapped(const void *p, size_t bytes, const smalloc_cell *cell);
/// Before it happens.
void note_unmapped(const void *p, size_t bytes);
/// After mremap has moved or resized [old, old + old_bytes) to p.
void note_remapped(const void *old, size_t old_bytes, const void *p, size_t bytes);

} // namespace smalloc::trace
#endif
