// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sized.h defines the steps that malloc's family and operator new share: the thread's cache, then
// jemalloc, then Runtime::sized_allocate(). `caller` is the return address of the program's call.
// It stands for the allocation site in the history of big objects (fill_history.h).
#ifndef SMALLOC_OVERRIDE_SIZED_H
#define SMALLOC_OVERRIDE_SIZED_H

#include "smalloc/core/runtime.h"
#include "smalloc/jemalloc/thread_cache.h"

namespace smalloc {

inline constexpr size_t kMostAlignment = size_t{1} << 30;

/// Allocates from the thread's cache, if libsmalloc is the process' malloc. nullptr: it is empty,
/// or may not be used now.
inline void *take_cached(size_t bytes) {
  if (SMALLOC_LIKELY(bytes < folded(g_malloc_entry.cached_below)))
    return take_from_thread_cache(bytes);
  if (bytes < folded(g_malloc_entry.larger_cached_below))
    return take_larger_from_thread_cache(bytes);
  return nullptr;
}
/// Allocates from jemalloc after take_cached() has failed.
inline void *allocate_past_cache(size_t bytes) {
  return SMALLOC_LIKELY(folded(g_malloc_entry.cached_below) != 0) ? jepriv_malloc_default(bytes)
                                                                  : jepriv_malloc(bytes);
}

/// Allocates from libsmalloc. nullptr: the next allocator has to serve the request.
inline void *try_sized(size_t bytes, const void *caller) {
  if (void *p = take_cached(bytes))
    return p;
  if (g_runtime.any_is_direct(bytes))
    if (void *p = allocate_past_cache(bytes))
      return p;
  return g_runtime.sized_allocate(bytes, kMallocAlignment, false, caller);
}
/// Allocates from libsmalloc with an alignment. nullptr: as of try_sized(), or the alignment is not
/// a power of two, or is above 1 GiB.
inline void *try_aligned(size_t alignment, size_t bytes, const void *caller) {
  if (!is_power_of_two(alignment) || alignment > kMostAlignment)
    return nullptr;
  return g_runtime.sized_allocate(bytes, max_of(alignment, kMallocAlignment), false, caller);
}

} // namespace smalloc
#endif
