// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// jemalloc_5.3.0.h lists what only jemalloc 5.3.0 has (Debian 12 and 13). See jemalloc_functions.h.
#ifndef SMALLOC_JEMALLOC_JEMALLOC_5_3_0_H
#define SMALLOC_JEMALLOC_JEMALLOC_5_3_0_H

#define SMALLOC_JEMALLOC_VERSION "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c"

/// Offsets in tsd_t, in bytes: thread_allocated, and rtree_ctx. Four arrays before them have a byte
/// for each class in slabs: four more classes if pages are twice as large.
#define SMALLOC_JEMALLOC_CACHE_OFFSET (0x338 + 16 * (SMALLOC_JEMALLOC_PAGE_SHIFT - 12))
#define SMALLOC_JEMALLOC_KNOWN_PAGES_OFFSET (0x1b0 + 16 * (SMALLOC_JEMALLOC_PAGE_SHIFT - 12))

/// Keeps its argument where arena_palloc has a parameter `slab`: not in 5.3.0.
#define SMALLOC_JEMALLOC_SLAB(...)

// clang-format off
#define SMALLOC_JEMALLOC_VERSION_FUNCTIONS(X) \
  X(void *, arena_palloc, (jemalloc_thread *, jemalloc_arena *, size_t usize, \
    size_t alignment, bool zero, jemalloc_cache *)) \
  X(void, tcache_gc_event_handler, (jemalloc_thread *, uint64_t elapsed)) \
  X(void, tcache_gc_dalloc_event_handler, (jemalloc_thread *, uint64_t elapsed))
#define SMALLOC_JEMALLOC_VERSION_DATA(X)
// clang-format on

#endif
