// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// malloc.cpp defines malloc and its family for the whole process. Runtime::sized_allocate() serves
// a request or declines it (small process, heap:guest, heap:off, unusual alignment). A declined
// request goes to the next definition of the same function, usually the C library's.
#include "smalloc/core/runtime.h"
#include "smalloc/override/foreign.h"
#include "smalloc/override/next.h"
#include "smalloc/override/sized.h"

#include <bit>
#include <errno.h>
#include <malloc.h>

using smalloc::g_runtime;

namespace smalloc {
namespace {
constinit NextFunction<void *(size_t)> next_malloc("malloc");
constinit NextFunction<void *(size_t, size_t)> next_calloc("calloc");
constinit NextFunction<void *(size_t, size_t)> next_memalign("memalign");
constinit NextFunction<void *(size_t, size_t)> next_aligned_alloc("aligned_alloc");
constinit NextFunction<int(void **, size_t, size_t)> next_posix_memalign("posix_memalign");
constinit NextFunction<void *(size_t)> next_valloc("valloc");
constinit NextFunction<struct mallinfo2()> next_mallinfo2("mallinfo2");

void *no_memory() {
  errno = ENOMEM;
  return nullptr;
}
void *foreign_malloc(size_t bytes) {
  auto *f = next_malloc.get();
  return f ? f(bytes) : no_memory();
}
// The function that malloc jumps to with a foreign request. It is never null, so that malloc needs
// no test.
void *first_foreign_malloc(size_t bytes);
constinit std::atomic<void *(*)(size_t)> passed_on{first_foreign_malloc};
void *first_foreign_malloc(size_t bytes) {
  if (auto *f = next_malloc.get())
    passed_on.store(f, std::memory_order_relaxed);
  return foreign_malloc(bytes);
}
// Separate, so that the most frequent path saves no register first.
__attribute__((noinline)) void *malloc_with_a_look(size_t bytes, const void *caller) {
  if (g_runtime.any_is_direct(bytes))
    if (void *p = allocate_past_cache(bytes))
      return p;
  if (void *p = g_runtime.sized_allocate(bytes, kMallocAlignment, false, caller))
    return p;
  return foreign_malloc(bytes);
}
} // namespace

/// Returns glibc's own count of the free bytes at the end of its heap. (libsmalloc's mallinfo2()
/// would take jemalloc's locks.)
static size_t foreign_top_bytes() {
  auto *f = next_mallinfo2.get();
  return f ? f().keepcost : 0;
}

NextAllocator g_next = {release_foreign, resize_foreign, foreign_malloc, usable_foreign,
                        foreign_top_bytes};

void *allocate_foreign(size_t bytes) { return foreign_malloc(bytes); }

} // namespace smalloc

SMALLOC_EXPORT void *malloc(size_t bytes) {
  using namespace smalloc;
  if (SMALLOC_LIKELY(bytes < folded(g_malloc_entry.foreign_below)))
    return folded(passed_on)(bytes);
  if (SMALLOC_LIKELY(bytes < folded(g_malloc_entry.cached_below))) {
    void *p = take_from_thread_cache(bytes);
    return SMALLOC_LIKELY(p != nullptr) ? p
                                        : malloc_with_a_look(bytes, __builtin_return_address(0));
  }
  if (bytes < folded(g_malloc_entry.larger_cached_below)) {
    if (void *p = take_larger_from_thread_cache(bytes))
      return p;
  } else if (Runtime::stays_small(bytes) || g_runtime.surely_foreign(bytes)) {
    return folded(passed_on)(bytes);
  }
  return malloc_with_a_look(bytes, __builtin_return_address(0));
}
SMALLOC_EXPORT void *calloc(size_t count, size_t bytes) {
  size_t total;
  if (__builtin_mul_overflow(count, bytes, &total))
    return smalloc::no_memory();
  if (SMALLOC_LIKELY(total < smalloc::folded(smalloc::g_malloc_entry.foreign_below)))
    if (auto *f = smalloc::next_calloc.known())
      return f(count, bytes);
  if (void *p = smalloc::take_cached(total))
    return memset(p, 0, total);
  if (smalloc::Runtime::stays_small(total))
    if (auto *f = smalloc::next_calloc.known())
      return f(count, bytes);
  if (g_runtime.any_is_direct(total))
    if (void *p = jepriv_calloc(1, total))
      return p;
  if (void *p = g_runtime.sized_allocate(total, smalloc::kMallocAlignment, true,
                                         __builtin_return_address(0)))
    return p;
  auto *f = smalloc::next_calloc.get();
  return f ? f(count, bytes) : smalloc::no_memory();
}
/// Rounds the alignment up, like glibc.
SMALLOC_EXPORT void *memalign(size_t alignment, size_t bytes) {
  size_t power =
      alignment <= 1 ? 1 : std::bit_ceil(smalloc::min_of(alignment, smalloc::kMostAlignment + 1));
  if (void *p = smalloc::try_aligned(power, bytes, __builtin_return_address(0)))
    return p;
  auto *f = smalloc::next_memalign.get();
  return f ? f(alignment, bytes) : smalloc::no_memory();
}
SMALLOC_EXPORT void *aligned_alloc(size_t alignment, size_t bytes) {
  // C17 requires a failure. glibc before 2.38 rounds up, which still applies where glibc serves.
  if (!smalloc::is_power_of_two(alignment) && g_runtime.serves_all()) {
    errno = EINVAL;
    return nullptr;
  }
  if (void *p = smalloc::try_aligned(alignment, bytes, __builtin_return_address(0)))
    return p;
  auto *f = smalloc::next_aligned_alloc.get();
  return f ? f(alignment, bytes) : smalloc::no_memory();
}
SMALLOC_EXPORT int posix_memalign(void **out, size_t alignment, size_t bytes) {
  if (alignment % sizeof(void *) == 0) {
    if (void *p = smalloc::try_aligned(alignment, bytes, __builtin_return_address(0))) {
      *out = p;
      return 0;
    }
  }
  auto *f = smalloc::next_posix_memalign.get();
  return f ? f(out, alignment, bytes) : ENOMEM;
}
SMALLOC_EXPORT void *valloc(size_t bytes) {
  if (void *p = smalloc::try_aligned(smalloc::kBasePageBytes, bytes, __builtin_return_address(0)))
    return p;
  auto *f = smalloc::next_valloc.get();
  return f ? f(bytes) : memalign(smalloc::kBasePageBytes, bytes);
}
/// Defined here: an allocator without pvalloc (jemalloc) would leave the call to glibc and crash in
/// free.
SMALLOC_EXPORT void *pvalloc(size_t bytes) {
  if (bytes > PTRDIFF_MAX)
    return smalloc::no_memory();
  return memalign(smalloc::kBasePageBytes,
                  smalloc::align_up(bytes ? bytes : 1, smalloc::kBasePageBytes));
}
