// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sized.h decides which requests the functions that know a size only may pass to our heaps:
// libsmalloc_preload.so's malloc family and operator new.
#ifndef SMALLOC_OVERRIDE_SIZED_H
#define SMALLOC_OVERRIDE_SIZED_H

#include "smalloc/core/runtime.h"
#include "smalloc/core/thread_cache.h"

namespace smalloc {

inline constexpr size_t kMallocAlignment = 16;
inline constexpr size_t kMostAlignment = size_t{1} << 30;

/// nullptr: the next allocator's.
inline void *try_sized(size_t bytes) {
  if (SMALLOC_LIKELY(bytes < folded(g_malloc_entry.cached_below)))
    if (void *p = take_from_thread_cache(bytes))
      return p;
  if (g_runtime.any_is_direct(bytes))
    if (void *p = jepriv_malloc(bytes))
      return p;
  return g_runtime.sized_allocate(bytes, kMallocAlignment, false);
}
/// Alignments that nobody sane asks for are the next allocator's to judge.
inline void *try_aligned(size_t alignment, size_t bytes) {
  if (!is_power_of_two(alignment) || alignment > kMostAlignment)
    return nullptr;
  return g_runtime.sized_allocate(bytes, max_of(alignment, kMallocAlignment), false);
}

} // namespace smalloc
#endif
