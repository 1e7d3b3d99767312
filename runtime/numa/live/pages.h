// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pages.h provides the migrator's own memory: anonymous mappings on base pages, never the program's
// malloc. So profiling changes nothing of what is profiled, and works while the program is inside
// its allocator.
//
// A log's moves are repeated in a run that maps other things than the recorded one (no counts, for
// example). The kernel places the program's mappings below those that were there before. So if a
// log is written or followed, all of smalloc's mappings come out of one reserved range.
#ifndef RUNTIME_NUMA_LIVE_PAGES_H
#define RUNTIME_NUMA_LIVE_PAGES_H

#include <stddef.h>

namespace smalloc::numa {

/// Reserves that range: once, before anything else is mapped. False: there is no room for it, and
/// addresses will differ.
bool keep_together();
/// Returns a free place in the range for a fixed mapping, for ever; nullptr: none is left, or no
/// range is reserved.
void *place_for(size_t bytes);

/// Maps zeroed memory; nullptr: there is none. Keeps errno.
void *map_pages(size_t bytes);
void unmap_pages(void *p, size_t bytes);

} // namespace smalloc::numa
#endif
