// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// entries.cpp turns the plugin's rewritten calls (site.h) into requests to the runtime. An entry
// that returns nullptr makes the caller call the program's own function. So an entry does not call
// that function. Exceptions: __smalloc_v1_small and __smalloc_v1_joining receive it as an argument.
// An entry may call the next allocator (g_next) for an object that has to lie there.
#include "smalloc/base/keep_errno.h"
#include "smalloc/core/register_module.h"
#include "smalloc/core/runtime.h"
#include "smalloc/jemalloc/thread_cache.h"
#include "smalloc/override/foreign.h"

#include <errno.h>
#include <string.h>

using smalloc::g_range;
using smalloc::g_runtime;
using smalloc::kMallocAlignment;

namespace {
constexpr size_t kMostAlignment = size_t{1} << 30;
} // namespace

SMALLOC_EXPORT void __smalloc_v1_register_module(smalloc_module *module) {
  int saved = errno;
  smalloc::module_register(module);
  errno = saved;
}
SMALLOC_EXPORT void __smalloc_v1_unregister_module(smalloc_module *module) {
  smalloc::module_unregister(module);
}

namespace {
/// Serves a direct site's request when the thread's budget is used up.
void *allocate_at_direct(size_t bytes, smalloc_cell *cell) {
  return g_runtime.site_allocate(cell, bytes, kMallocAlignment, false);
}
/// Serves a direct site's request from the thread's cache, if it may. nullptr: the cache has no
/// such object.
SMALLOC_INLINED void *take_at_direct(size_t bytes) {
  if (SMALLOC_LIKELY(bytes < smalloc::folded(smalloc::g_malloc_entry.direct_below)))
    return smalloc::take_from_thread_cache(bytes);
  return bytes < smalloc::folded(smalloc::g_malloc_entry.larger_direct_below)
             ? smalloc::take_larger_from_thread_cache(bytes)
             : nullptr;
}
__attribute__((noinline)) void *fill_at_direct(size_t bytes) {
  smalloc::Runtime::disarm_if_absurd(bytes);
  if (SMALLOC_UNLIKELY(g_runtime.joins_by_size(bytes)))
    return g_runtime.joining_allocate(nullptr, bytes);
  smalloc::Runtime::note_size(bytes);
  return bytes < smalloc::folded(smalloc::g_malloc_entry.direct_below)
             ? jepriv_malloc_default(bytes)
             : jepriv_malloc(bytes);
}
// Both functions are separate, so that the path through the thread's cache saves no register.
__attribute__((noinline)) void *allocate_or(size_t bytes, smalloc_cell *cell,
                                            smalloc_otherwise *otherwise, const void *argument) {
  void *p = allocate_at_direct(bytes, cell);
  return p ? p : otherwise(bytes, argument);
}
__attribute__((noinline)) void *filled_or(size_t bytes, smalloc_otherwise *otherwise,
                                          const void *argument) {
  void *p = fill_at_direct(bytes);
  return p ? p : otherwise(bytes, argument);
}
// These three serve a site whose sizes vary from a heap that joins neighbours. They are separate,
// so that the path through the thread's cache saves no register.
__attribute__((noinline)) void *joined_slowly_or(smalloc_cell *cell, size_t bytes, void *cached,
                                                 smalloc_otherwise *otherwise,
                                                 const void *argument) {
  void *p = g_runtime.joining_allocate_slowly(cell, bytes, cached);
  return SMALLOC_LIKELY(p != nullptr) ? p : otherwise(bytes, argument);
}
__attribute__((noinline)) void *in_bitmap_or(smalloc_cell *cell, size_t bytes,
                                             smalloc_otherwise *otherwise, const void *argument) {
  return g_runtime.bitmap_or(
      bytes, [&](void *p) { return joined_slowly_or(cell, bytes, p, otherwise, argument); });
}
__attribute__((noinline)) void *joined_or(smalloc_cell *cell, size_t bytes,
                                          smalloc_otherwise *otherwise, const void *argument) {
  void *p = bytes < smalloc::kSuperpageBytes ? g_runtime.joining_allocate(cell, bytes)
                                             : allocate_at_direct(bytes, cell);
  return SMALLOC_LIKELY(p != nullptr) ? p : otherwise(bytes, argument);
}
/// Serves malloc and operator new without the thread's cache. Separate, so that the path through
/// the cache saves no register first.
__attribute__((noinline)) void *allocate_elsewhere(size_t bytes, smalloc_cell *cell) {
  return smalloc::Runtime::bypasses_heaps(cell, bytes)
             ? nullptr
             : g_runtime.site_allocate(cell, bytes, kMallocAlignment, false);
}
SMALLOC_INLINED void *small_or(size_t bytes, smalloc_cell *cell, smalloc_otherwise *otherwise,
                               const void *argument) {
  if (SMALLOC_UNLIKELY(!smalloc::Runtime::may_be_direct(bytes)))
    return allocate_or(bytes, cell, otherwise, argument);
  void *p = take_at_direct(bytes);
  return SMALLOC_LIKELY(p != nullptr) ? p : filled_or(bytes, otherwise, argument);
}
/// At a site whose sizes vary, jemalloc's cache serves arrays that double as they grow, and all
/// threads but the main one.
SMALLOC_INLINED void *joining_or(size_t bytes, smalloc_cell *cell, smalloc_otherwise *otherwise,
                                 const void *argument) {
  if (SMALLOC_LIKELY(bytes < smalloc::JoiningHeap::kLeastRowBytes))
    return smalloc::Runtime::is_small_for_bitmap(bytes)
               ? in_bitmap_or(cell, bytes, otherwise, argument)
               : small_or(bytes, cell, otherwise, argument);
  if (smalloc::Runtime::is_for_bitmap(bytes))
    return in_bitmap_or(cell, bytes, otherwise, argument);
  return smalloc::Runtime::is_for_malloc(bytes) ? joined_or(cell, bytes, otherwise, argument)
                                                : small_or(bytes, cell, otherwise, argument);
}
/// Serves realloc, which begins a new object, and thunks that do not know joining_or().
inline void *allocate_at(size_t bytes, smalloc_cell *cell) {
  constexpr smalloc_otherwise *kDeclines = [](size_t, const void *) -> void * { return nullptr; };
  return SMALLOC_LIKELY(__atomic_load_n(&cell->word, __ATOMIC_RELAXED) & SMALLOC_CELL_JOINS)
             ? joining_or(bytes, cell, kDeclines, nullptr)
             : allocate_elsewhere(bytes, cell);
}
} // namespace

SMALLOC_EXPORT void *__smalloc_v1_small(size_t bytes, smalloc_cell *cell,
                                        smalloc_otherwise *otherwise, const void *argument) {
  return small_or(bytes, cell, otherwise, argument);
}
SMALLOC_EXPORT void *__smalloc_v1_joining(size_t bytes, smalloc_cell *cell,
                                          smalloc_otherwise *otherwise, const void *argument) {
  return joining_or(bytes, cell, otherwise, argument);
}
SMALLOC_EXPORT void *__smalloc_v1_malloc(size_t bytes, smalloc_cell *cell) {
  return allocate_at(bytes, cell);
}
SMALLOC_EXPORT void *__smalloc_v1_new(size_t bytes, smalloc_cell *cell) {
  return allocate_at(bytes, cell);
}
SMALLOC_EXPORT void *__smalloc_v1_calloc(size_t count, size_t bytes, smalloc_cell *cell) {
  size_t total;
  if (__builtin_mul_overflow(count, bytes, &total))
    return nullptr;
  const uint64_t word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
  // Like __smalloc_v1_small, which returns no zeroed memory.
  if (word & (SMALLOC_CELL_DIRECT | SMALLOC_CELL_JOINS)) {
    if (SMALLOC_LIKELY(smalloc::Runtime::may_be_direct(total))) {
      if (SMALLOC_LIKELY(total < smalloc::folded(smalloc::g_malloc_entry.direct_below)))
        if (void *p = smalloc::take_from_thread_cache(total))
          return memset(p, 0, total);
      smalloc::Runtime::disarm_if_absurd(total);
      if (g_runtime.joins_by_size(total, /*zero=*/true))
        return g_runtime.joining_allocate(nullptr, total, /*zero=*/true);
      smalloc::Runtime::note_size(total);
      return jepriv_calloc(1, total);
    }
  } else if (smalloc::Runtime::bypasses_heaps(cell, total)) {
    return nullptr;
  }
  return g_runtime.site_allocate(cell, total, kMallocAlignment, true);
}
SMALLOC_EXPORT void *__smalloc_v1_aligned_alloc(size_t alignment, size_t bytes,
                                                smalloc_cell *cell) {
  if (!smalloc::is_power_of_two(alignment) || alignment > kMostAlignment)
    return nullptr;
  return g_runtime.site_allocate(cell, bytes, smalloc::max_of(alignment, kMallocAlignment), false);
}
SMALLOC_EXPORT void *__smalloc_v1_new_aligned(size_t bytes, size_t alignment, smalloc_cell *cell) {
  return __smalloc_v1_aligned_alloc(alignment, bytes, cell);
}
SMALLOC_EXPORT int __smalloc_v1_posix_memalign(void **out, size_t alignment, size_t bytes,
                                               smalloc_cell *cell) {
  if (alignment % sizeof(void *) != 0)
    return -1;
  void *p = __smalloc_v1_aligned_alloc(alignment, bytes, cell);
  if (!p)
    return -1;
  *out = p;
  return 0;
}

namespace {
/// Serves a realloc that begins a new object at the site, like any other request there.
__attribute__((noinline)) void *begin_at(smalloc_cell *cell, size_t bytes) {
  if (!(__atomic_load_n(&cell->word, __ATOMIC_RELAXED) & SMALLOC_CELL_DIRECT))
    return allocate_at(bytes, cell);
  if (SMALLOC_UNLIKELY(!smalloc::Runtime::may_be_direct(bytes)))
    return allocate_at_direct(bytes, cell);
  void *p = take_at_direct(bytes);
  return SMALLOC_LIKELY(p != nullptr) ? p : fill_at_direct(bytes);
}
// Separate, so that a resize for the program's malloc saves no register first.
__attribute__((noinline)) void *resize_ours_kept(void *p, size_t bytes, smalloc_cell *cell) {
  smalloc::KeepErrno keep;
  return smalloc::resize_ours(p, bytes, cell);
}
__attribute__((noinline)) void *resize_foreign_asked(void *p, size_t bytes, smalloc_cell *cell) {
  smalloc::KeepErrno keep;
  if (!smalloc::knows_foreign_sizes())
    return nullptr;
  const size_t had = smalloc::usable_foreign(p);
  void *r = nullptr;
  if (smalloc::Runtime::is_directed(cell)) {
    if (smalloc::Runtime::is_refused(cell)) // not to the program's realloc: it takes objects over
      return smalloc::g_next.realloc(p, bytes);
  } else if (had < bytes && g_runtime.takes_over(bytes)) {
    if ((r = g_runtime.take_over(p, had, bytes, cell, nullptr)))
      smalloc::release_foreign(p);
    return r;
  }
  if (g_runtime.site_accepts(cell, bytes))
    r = begin_at(cell, bytes);
  if (r) {
    memcpy(r, p, smalloc::min_of(had, bytes));
    smalloc::release_foreign(p);
  }
  return r;
}
} // namespace

SMALLOC_EXPORT void *__smalloc_v1_realloc(void *p, size_t bytes, smalloc_cell *cell) {
  if (!p)
    return begin_at(cell, bytes);
  if (bytes == 0)
    return nullptr;      // the program's realloc is libsmalloc's too, and frees
  if (g_range.covers(p)) // or in a returned part, which resize_ours() detects
    return resize_ours_kept(p, bytes, cell);
  // malloc may join the object with free neighbours and grow it in place: it stays there, whatever
  // its size.
  return smalloc::Runtime::bypasses_heaps(cell, bytes) ||
                 (bytes < smalloc::kSuperpageBytes &&
                  (__atomic_load_n(&cell->word, __ATOMIC_RELAXED) & SMALLOC_CELL_JOINS))
             ? nullptr
             : resize_foreign_asked(p, bytes, cell);
}

SMALLOC_EXPORT void __smalloc_v1_mapped(void *p, size_t bytes, smalloc_cell *cell) {
  if (p && p != reinterpret_cast<void *>(-1)) // MAP_FAILED; numa_alloc returns null
    g_runtime.site_mapped(cell, p, bytes);
}

SMALLOC_EXPORT void __smalloc_v1_filling(const void *p, uint64_t range, uint64_t written) {
  g_runtime.filling(p, range, written);
}
// The pointers may be any: filling() ignores what is not libsmalloc's.
SMALLOC_EXPORT void __smalloc_v1_filling_each(const void *const *pointers, uint64_t range,
                                              uint64_t written, uint64_t count, uint64_t offset) {
  for (uint64_t i = 0; i < count; i++)
    g_runtime.filling(
        reinterpret_cast<const void *>(reinterpret_cast<uintptr_t>(pointers[i]) + offset), range,
        written);
}
SMALLOC_EXPORT void __smalloc_v1_touching(const void *p, uint64_t saved_misses) {
  g_runtime.touching(p, saved_misses);
}
