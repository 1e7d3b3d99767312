// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// thread_without_cache.h decides what happens to a thread whose cache a jemalloc of ours cannot make, since there is no memory left for
// it: jemalloc 5.3.0 takes it that there is one, and reads null pointers, at the thread's end at the latest. Such a thread does without,
// as with opt.tcache:false. A thread that begins at the same moment may do so, too.
#ifndef SMALLOC_JEMALLOC_THREAD_WITHOUT_CACHE_H
#define SMALLOC_JEMALLOC_THREAD_WITHOUT_CACHE_H

#include "smalloc/base/units.h"
#include "smalloc/jemalloc/jemalloc_functions.h"

namespace smalloc {

/// jemalloc's own initialiser of the thread's cache, and its opt_tcache. no_memory: the thread's, set by what the cache's memory comes
/// from when it has none.
inline bool init_thread_cache(bool (*init)(jemalloc_thread *thread), jemalloc_thread *thread,
                              bool &no_memory, bool &opt_tcache) {
  no_memory = false;
  bool failed = init(thread);
  while (SMALLOC_UNLIKELY(no_memory)) { // again, where another thread was just done with the same
    no_memory = false;
    __atomic_store_n(&opt_tcache, false, __ATOMIC_RELAXED);
    failed = init(thread);
    __atomic_store_n(&opt_tcache, true, __ATOMIC_RELAXED);
  }
  return failed;
}

} // namespace smalloc
#endif
