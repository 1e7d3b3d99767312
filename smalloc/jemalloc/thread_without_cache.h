// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// thread_without_cache.h handles a thread for whose cache jemalloc has no memory. jemalloc 5.3.0
// assumes that the cache exists and reads null pointers, at the thread's end at the latest. This
// code makes the thread work without a cache, as with opt.tcache:false. jemalloc's initialiser
// reads that option twice, so no other thread may be in it while the option is changed.
#ifndef SMALLOC_JEMALLOC_THREAD_WITHOUT_CACHE_H
#define SMALLOC_JEMALLOC_THREAD_WITHOUT_CACHE_H

#include "smalloc/base/units.h"
#include "smalloc/jemalloc/jemalloc_functions.h"

#include <atomic>
#include <sched.h>

namespace smalloc {

/// Initialises the threads' caches of one jemalloc. Zero-initialised. Waits are bounded: a child of
/// fork may inherit a state that a thread of the parent would have ended.
class ThreadCacheInit {
public:
  /// Runs jemalloc's own initialiser `init` of the thread's cache, again without a cache if memory
  /// ran out. `opt_tcache`: jemalloc's option. `no_memory`: the thread's flag, set by the cache's
  /// allocator on failure.
  bool run(bool (*init)(jemalloc_thread *thread), jemalloc_thread *thread, bool &no_memory,
           bool &opt_tcache) {
    enter();
    no_memory = false;
    bool failed = init(thread);
    inside_.fetch_sub(1);
    if (SMALLOC_LIKELY(!no_memory))
      return failed;
    for (unsigned i = 0; off_.exchange(true) && i < kMostWaits; i++)
      sched_yield();
    for (unsigned i = 0; inside_.load() != 0 && i < kMostWaits; i++)
      sched_yield();
    no_memory = false;
    __atomic_store_n(&opt_tcache, false, __ATOMIC_RELAXED);
    failed = init(thread);
    __atomic_store_n(&opt_tcache, true, __ATOMIC_RELAXED);
    off_.store(false);
    return failed;
  }

private:
  static constexpr unsigned kMostWaits = 100000; ///< some 20 ms
  /// Waits while another thread has switched the option off.
  void enter() {
    for (unsigned i = 0;; i++) {
      inside_.fetch_add(1);
      if (SMALLOC_LIKELY(!off_.load()) || i == kMostWaits)
        return;
      inside_.fetch_sub(1);
      sched_yield();
    }
  }
  std::atomic<unsigned> inside_{0}; ///< threads in the initialiser
  std::atomic<bool> off_{false};    ///< a thread has switched the option off, or is about to
};

} // namespace smalloc
#endif
