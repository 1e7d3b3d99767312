// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// no_cache.cpp decides that threads of the private jemalloc may do without a cache: the range that it allocates from may be full
// (reserve:, ulimit -v).
#include "smalloc/core/thread_without_cache.h"

#include <stddef.h>

extern "C" {
void *jepriv_arena_palloc(void *thread, size_t bytes, size_t alignment, bool zero, void *cache);
bool jepriv_tsd_tcache_enabled_data_init(void *thread);
extern bool jepriv_opt_tcache;

static __thread bool t_no_memory __attribute__((tls_model("initial-exec")));

/// What a thread's cache is made of: the only memory that jemalloc's tcache.c asks for.
void *jesys_private_arena_palloc(void *thread, size_t bytes, size_t alignment, bool zero,
                                 void *cache) {
  void *p = jepriv_arena_palloc(thread, bytes, alignment, zero, cache);
  t_no_memory = !p;
  return p;
}
bool jesys_private_tsd_tcache_enabled_data_init(void *thread) {
  return smalloc::init_thread_cache(jepriv_tsd_tcache_enabled_data_init, thread, t_no_memory,
                                    jepriv_opt_tcache);
}
}
