// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pages.h decides where the migrator's own memory comes from: anonymous mappings on base pages, never the program's
// malloc, so that profiling changes nothing of what is profiled and works while the program is inside its allocator.
//
// A log's moves are made again in a run that maps other things than the one that was recorded (no counts, for one), and the
// kernel puts the program's mappings below whatever was mapped before. So where a log is written or followed, all that is ours
// comes out of one reserved range.
#ifndef RUNTIME_NUMA_LIVE_PAGES_H
#define RUNTIME_NUMA_LIVE_PAGES_H

#include <stddef.h>

namespace smalloc::numa {

/// Reserves that range: before anything else is mapped, once. False: there is no room for it, and addresses will differ.
bool keep_together();
/// A free place in the range for a fixed mapping, for ever; nullptr: none, or nothing is kept together.
void *place_for(size_t bytes);

/// Zeroed; nullptr: there is none. Keeps errno.
void *map_pages(size_t bytes);
void unmap_pages(void *p, size_t bytes);

} // namespace smalloc::numa
#endif
