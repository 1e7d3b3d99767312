// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// thread_cache.h decides when malloc of heap:superpage takes an object out of the private jemalloc's
// thread cache itself: what jemalloc's own malloc does first, without a call between the two, which
// costs a fifth of a malloc/free pair. The structures are those of jemalloc 5.3.0 on 64 bits;
// thread_cache_is_known() makes sure that the one at hand has them, or malloc goes on calling.
#ifndef SMALLOC_CORE_THREAD_CACHE_H
#define SMALLOC_CORE_THREAD_CACHE_H

#include "smalloc/base/units.h"
#include "smalloc/core/private_jemalloc.h"

#include <atomic>
#include <stddef.h>
#include <stdint.h>

extern "C" {
/// jemalloc's thread-local state, tsd_t.
extern __thread unsigned char je_tsd_tls[]
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
}

namespace smalloc {

/// cache_bin_t: a stack of free objects of a class that grows downwards.
struct ThreadCacheBin {
  void **top;
  uint64_t requests;
  uint16_t low_water, full, empty; ///< low halves of addresses
};
/// The part of tsd_t that the first steps of malloc and free use. In a thread that has none yet, or
/// none any more, the next event is due at 0.
struct ThreadCacheFront {
  uint64_t allocated, next_event, deallocated, next_free_event;
  void *slow;
  ThreadCacheBin bins[36];
};
inline constexpr size_t kThreadCacheOffset = 0x338;
inline constexpr size_t kMostCachedLookup = 4096; ///< larger sizes are not in jemalloc's table

inline ThreadCacheFront &thread_cache() {
  return *reinterpret_cast<ThreadCacheFront *>(je_tsd_tls + kThreadCacheOffset);
}

/// nullptr: jemalloc's malloc has to be called, because the cache is empty, something is due, or the
/// request is large.
inline void *take_from_thread_cache(size_t bytes) {
  if (SMALLOC_UNLIKELY(bytes > kMostCachedLookup))
    return nullptr;
  const size_t index = je_sz_size2index_tab[(bytes + 7) / 8];
  ThreadCacheFront &cache = thread_cache();
  const uint64_t allocated = cache.allocated + je_sz_index2size_tab[index];
  if (SMALLOC_UNLIKELY(allocated >= cache.next_event))
    return nullptr;
  ThreadCacheBin &bin = cache.bins[index];
  void **top = bin.top;
  if (SMALLOC_UNLIKELY(static_cast<uint16_t>(reinterpret_cast<uintptr_t>(top)) == bin.low_water))
    return nullptr;
  void *p = *top;
  if (!p)
    __builtin_unreachable(); // spares the caller's test
  bin.top = top + 1;
  bin.requests++;
  cache.allocated = allocated;
  return p;
}

/// Does jemalloc keep its cache as above? Tries it with objects of the calling thread, which must be
/// bound to an arena; `ours` says whether an address may be read.
bool thread_cache_is_known(bool (*ours)(const void *));

/// What libsmalloc_preload.so's malloc is: by rules, or from the thread cache while everything comes
/// from our heaps and nobody asks for whom. In libsmalloc.so, which has no malloc, both are null.
struct MallocEntry {
  using Function = void *(size_t);
  std::atomic<Function *> now;
  Function *by_rules, *from_cache;
};
extern MallocEntry g_malloc_entry; // filled in by override/

} // namespace smalloc
#endif
