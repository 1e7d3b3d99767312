// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// thread_without_cache.h handles a thread for whose cache jemalloc has no memory. jemalloc 5.3.0
// assumes that the cache exists and reads null pointers, at the thread's end at the latest. This
// code makes the thread work without a cache, as with opt.tcache:false. A thread that starts at the
// same moment may get no cache either.
#ifndef SMALLOC_JEMALLOC_THREAD_WITHOUT_CACHE_H
#define SMALLOC_JEMALLOC_THREAD_WITHOUT_CACHE_H

#include "smalloc/base/units.h"
#include "smalloc/jemalloc/jemalloc_functions.h"

namespace smalloc {

/// Runs jemalloc's own initialiser `init` of the thread's cache, again without a cache if memory
/// ran out. `opt_tcache`: jemalloc's option. `no_memory`: the thread's flag, set by the cache's
/// allocator on failure.
inline bool init_thread_cache(bool (*init)(jemalloc_thread *thread), jemalloc_thread *thread,
                              bool &no_memory, bool &opt_tcache) {
  no_memory = false;
  bool failed = init(thread);
  while (SMALLOC_UNLIKELY(no_memory)) { // repeats if another thread has just set opt_tcache back to
                                        // true
    no_memory = false;
    __atomic_store_n(&opt_tcache, false, __ATOMIC_RELAXED);
    failed = init(thread);
    __atomic_store_n(&opt_tcache, true, __ATOMIC_RELAXED);
  }
  return failed;
}

} // namespace smalloc
#endif
