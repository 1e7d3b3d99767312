// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// no_cache.cpp decides what happens to a thread whose cache of the private jemalloc cannot be made, since the range has no memory left
// for it (reserve:, ulimit -v): jemalloc 5.3.0 takes it that there is one, and reads null pointers at the thread's end at the latest.
// Such a thread does without, as with opt.tcache:false. A thread that begins at the same moment may do so, too.
#include "smalloc/base/units.h"

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
  t_no_memory = false;
  bool failed = jepriv_tsd_tcache_enabled_data_init(thread);
  while (SMALLOC_UNLIKELY(t_no_memory)) { // again, where another thread was just done with the same
    t_no_memory = false;
    __atomic_store_n(&jepriv_opt_tcache, false, __ATOMIC_RELAXED);
    failed = jepriv_tsd_tcache_enabled_data_init(thread);
    __atomic_store_n(&jepriv_opt_tcache, true, __ATOMIC_RELAXED);
  }
  return failed;
}
}
