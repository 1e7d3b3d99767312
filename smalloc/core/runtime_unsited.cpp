// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime_unsited.cpp decides which heap serves a request that comes from no site: of
// libsmalloc_preload.so's malloc family, by size and strategy, and of the C API, by page kind. It also
// decides how far malloc's own entry may go on without asking here (thread_cache.h).
#include "smalloc/core/modules.h"
#include "smalloc/core/promotion_thread.h"
#include "smalloc/core/runtime.h"
#include "smalloc/core/thread_cache.h"
#include "smalloc/include/smalloc/smalloc.h"
#include "smalloc/os/own_image.h"

namespace smalloc {
/// Every request of usual alignment may go to the thread's cache, and this thread's others to jemalloc for a while.
void Runtime::arm_any() {
  const bool packs = g_small.packs();
  t_small.any_bytes = packs ? 0 : kDirectBytes;
  const bool cached = cache_is_known() && !packs;
  const size_t below = cached ? kMostCachedLookup + 1 : 0;
  if (SMALLOC_UNLIKELY(g_malloc_entry.cached_below.load(std::memory_order_relaxed) != below)) {
    g_malloc_entry.cached_below.store(below, std::memory_order_relaxed);
    g_malloc_entry.larger_cached_below.store(cached ? kMostCached + 1 : 0,
                                             std::memory_order_relaxed);
  }
}

/// The calling thread is bound to an arena, and has an object.
bool Runtime::cache_is_known() {
  if (SMALLOC_UNLIKELY(!cache_looked_at_.load(std::memory_order_relaxed)) &&
      !cache_looked_at_.exchange(true)) {
    const bool known = thread_cache_is_known([](const void *p) { return g_range.contains(p); });
    cache_known_.store(known);
    g_malloc_entry.direct_below.store(known ? kMostCachedLookup + 1 : 0, std::memory_order_relaxed);
    g_malloc_entry.larger_direct_below.store(known ? kMostCached + 1 : 0,
                                             std::memory_order_relaxed);
    if (!options_.text_on_superpages)
      drop_own_file_pages(); // jemalloc's control interface has been asked
    if (known && region_.start() % (size_t{1} << kPagePartShift) == 0)
      g_known_pages.cover(g_range.main_heap_bytes.load(std::memory_order_relaxed));
  }
  return cache_known_.load(std::memory_order_relaxed);
}

/// Requests that are not ours by their size need no look while nothing waits for promotion. What begins to wait ends that
/// (Region::add_pending), perhaps between our question and our answer: so we ask again.
void Runtime::let_foreign_pass() {
  if (__atomic_load_n(&__smalloc_v1_pending, __ATOMIC_SEQ_CST) != 0)
    return;
  g_malloc_entry.foreign_below.store(foreign_below_.load(std::memory_order_relaxed));
  if (__atomic_load_n(&__smalloc_v1_pending, __ATOMIC_SEQ_CST) != 0)
    g_malloc_entry.foreign_below.store(0);
}
/// The calling thread has made as many calls as may pass without a look.
static bool looks_now() {
  if (static_cast<int>(--t_small.calls_until_look) >= 0)
    return false;
  t_small.calls_until_look = kCallsPerLook;
  return true;
}

/// Something may wait for promotion now, and the program may never call again.
void Runtime::wake_promoter() {
  if (options_.promoter_thread && options_.promote != PromotePolicy::kOff)
    promotion_thread_wake();
}

/// heap:superpage. A thread that has been here may go on directly for a while; here is where promotions that are due get
/// their turn.
void *Runtime::any_allocate(size_t bytes, size_t alignment, bool zero) {
  if (!ready() || !sites_served_)
    return nullptr;
  if (__smalloc_v1_pending && (!g_accounts.tracks_small() || looks_now()))
    promote_by_time();
  const bool big = bytes >= kSuperpageBytes || alignment > kSuperpageBytes;
  if (!big) // units that have lost their superpages get them back
    g_small.main_pages().lower_reach(0);
  void *p = big ? big_allocate(max_of<size_t>(bytes, 1), alignment, zero, Birth::kSuperpages)
                : small_allocate(bytes, alignment, zero);
  if (p && !big && !g_accounts.tracks_small())
    arm_any();
  if (p && SMALLOC_UNLIKELY(__smalloc_v1_pending))
    wake_promoter();
  return p;
}

void *Runtime::sized_allocate(size_t bytes, size_t alignment, bool zero) {
  if (SMALLOC_UNLIKELY(is_off()))
    return nullptr;
  const HeapStrategy heap = options().heap;
  if (heap == HeapStrategy::kSuperpage)
    return any_allocate(bytes, alignment, zero);
  static std::atomic<uint64_t> requested{0};
  if (looks_now() && __smalloc_v1_pending)
    promote_by_time();
  // The reach is known once the heaps run; before, whatever may hold a superpage is a reason to look.
  size_t least_big = running() ? max_of<size_t>(kSuperpageBytes, reach_bytes_) : kSuperpageBytes;
  if (heap == HeapStrategy::kSplit)
    foreign_below_.store(least_big, std::memory_order_relaxed);
  else if (heap == HeapStrategy::kOff)
    foreign_below_.store(SIZE_MAX, std::memory_order_relaxed);
  let_foreign_pass();
  switch (heap) {
  case HeapStrategy::kOff:
    return nullptr;
  case HeapStrategy::kMigrate:
    if (bytes < kSuperpageBytes && alignment <= kSuperpageBytes) {
      if (requested.load(std::memory_order_relaxed) < kSiteWarmupBytes) {
        requested.fetch_add(bytes, std::memory_order_relaxed);
        return nullptr;
      }
      if (!ready() || !sites_served_)
        return nullptr;
      g_small.class_pages().lower_reach(reach_bytes_);
      void *p = class_allocate(bytes, alignment, zero);
      if (p && SMALLOC_UNLIKELY(__smalloc_v1_pending))
        wake_promoter();
      return p;
    }
    break;
  case HeapStrategy::kSuperpage:
  case HeapStrategy::kSplit:
    break;
  }
  if (bytes < least_big || !ready() || !sites_served_ || bytes < reach_bytes_)
    return nullptr;
  void *p = big_allocate(bytes, alignment, zero, Birth::kBase);
  if (p)
    wake_promoter();
  return p;
}

/// A program that has no sites calls nothing else of ours: what waits for promotion gets its turn here.
void *Runtime::kind_allocate(size_t bytes, size_t alignment, bool zero, int kind) {
  if (!ready())
    return nullptr;
  const bool big = bytes >= kSuperpageBytes || alignment > kSuperpageBytes;
  if (__smalloc_v1_pending && (big || looks_now()))
    promote_by_time();
  void *p = nullptr;
  if (big) {
    p = big_allocate(max_of<size_t>(bytes, 1), alignment, zero,
                     kind == SMALLOC_BASE ? Birth::kBase : Birth::kSuperpages,
                     kind == SMALLOC_SUPERPAGE);
  } else if (kind == SMALLOC_BASE) {
    p = class_allocate(bytes, alignment, zero);
  } else {
    g_small.main_pages().lower_reach(0); // as at a site that is decided
    p = small_allocate(bytes, alignment, zero);
  }
  if (p && SMALLOC_UNLIKELY(__smalloc_v1_pending))
    wake_promoter();
  return p;
}

} // namespace smalloc
