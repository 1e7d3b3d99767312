// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// no_cache.cpp lets threads of the private jemalloc work without a cache: the range from which it
// allocates may be full (reserve:, ulimit -v).
#include "smalloc/jemalloc/private_jemalloc.h"
#include "smalloc/jemalloc/thread_without_cache.h"

#include <stddef.h>

extern "C" {
decltype(jepriv_arena_palloc) jesys_private_arena_palloc;
decltype(jepriv_tsd_tcache_enabled_data_init) jesys_private_tsd_tcache_enabled_data_init;

static constinit smalloc::ThreadCacheInit g_cache_init;
static __thread bool t_no_memory __attribute__((tls_model("initial-exec")));

/// Allocates the memory of a thread's cache: the only memory that jemalloc's tcache.c requests.
/// Records a failure.
void *jesys_private_arena_palloc(jemalloc_thread *thread, jemalloc_arena *arena, size_t bytes,
                                 size_t alignment, bool zero,
                                 SMALLOC_JEMALLOC_SLAB(bool slab, ) jemalloc_cache *cache) {
  void *p = jepriv_arena_palloc(thread, arena, bytes, alignment, zero,
                                SMALLOC_JEMALLOC_SLAB(slab, ) cache);
  t_no_memory = !p;
  return p;
}
bool jesys_private_tsd_tcache_enabled_data_init(jemalloc_thread *thread) {
  return g_cache_init.run(jepriv_tsd_tcache_enabled_data_init, thread, t_no_memory,
                          jepriv_opt_tcache);
}
}
