// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// jemalloc_5.3.1.h lists what only jemalloc 5.3.1 has (Debian testing and unstable). See
// jemalloc_functions.h.
#ifndef SMALLOC_JEMALLOC_JEMALLOC_5_3_1_H
#define SMALLOC_JEMALLOC_JEMALLOC_5_3_1_H

#define SMALLOC_JEMALLOC_VERSION "5.3.1-0-g81034ce1f1373e37dc865038e1bc8eeecf559ce8"

/// Offsets in tsd_t, in bytes: thread_allocated, and rtree_ctx.
#define SMALLOC_JEMALLOC_CACHE_OFFSET 0x3a8
#define SMALLOC_JEMALLOC_KNOWN_PAGES_OFFSET 0x220

/// Keeps its argument where arena_palloc has a parameter `slab`, as in 5.3.1.
#define SMALLOC_JEMALLOC_SLAB(...) __VA_ARGS__

extern "C" {
/// te_base_cb_t: an event of a thread. 5.3.1 calls the handler after allocations and frees alike.
struct jemalloc_event {
  int (*enabled)(void);
  uint64_t (*new_event_wait)(jemalloc_thread *);
  uint64_t (*postponed_event_wait)(jemalloc_thread *);
  void (*event_handler)(jemalloc_thread *);
};
}

// clang-format off
#define SMALLOC_JEMALLOC_VERSION_FUNCTIONS(X) \
  X(void *, arena_palloc, (jemalloc_thread *, jemalloc_arena *, size_t usize, \
    size_t alignment, bool zero, bool slab, jemalloc_cache *))
#define SMALLOC_JEMALLOC_VERSION_DATA(X) \
  X(jemalloc_event, tcache_gc_te_handler, )
// clang-format on

#endif
