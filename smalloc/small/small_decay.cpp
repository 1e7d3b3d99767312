// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// small_decay.cpp returns unused pages of the private jemalloc to the kernel. jemalloc lets them
// decay (1 s, in steps), but reads the clock only once in a thousand of its slower calls. A program
// that frees nearly everything and then allocates little would keep them. So libsmalloc runs the
// decay at a thread's events (every MiB allocated, every MiB freed), at most once in kTickNs.
// A heap that has emptied keeps its unused pages for the decay time while the helper thread runs,
// which then returns them. A program may free and request as much again and again, as for one frame
// after the other, and a superpage that comes back from the kernel may cost more than 512 base
// pages (pages/first_touch_cost.h). Without the helper thread it returns them at once, since the
// program may never call again, unless the program has needed such pages again before. Emptied
// means: more pages are unused than used, and more than cache: allows.
#include "smalloc/base/keep_errno.h"
#include "smalloc/jemalloc/thread_cache.h"
#include "smalloc/small/node_heaps.h"
#include "smalloc/small/small_heap.h"

#if SMALLOC_JEMALLOC_RELEASE == 50300
extern "C" {
decltype(jepriv_tcache_gc_event_handler) jesys_tcache_gc_event_handler;
decltype(jepriv_tcache_gc_dalloc_event_handler) jesys_tcache_gc_dalloc_event_handler;
}
#endif

namespace smalloc {
namespace {
constexpr uint64_t kTickNs = 20000000;   ///< 1/50 of the decay time; jemalloc's own steps are 1/200
constexpr unsigned kEventsPerSum = 4;    ///< 4 MiB that a thread has allocated or freed
constexpr uint64_t kKeptNs = 1000000000; ///< the decay time
} // namespace

template <class Visit> void SmallHeap::for_each_arena(Visit visit) {
  for (unsigned k = 0; k < arena_count_; k++)
    if (arena_state_[k].load(std::memory_order_acquire) == HeapState::kReady)
      visit(jepriv_arenas[arenas_[k]]);
  if (class_state_.load(std::memory_order_acquire) == HeapState::kReady)
    visit(jepriv_arenas[class_arena_]);
  g_node_heaps.for_each_arena(visit);
}

void SmallHeap::purge() {
  kept_.store(false, std::memory_order_relaxed);
  if (!ready())
    return;
  KeepErrno keep;
  jepriv_mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0); // MALLCTL_ARENAS_ALL
}

/// True if the pages of the emptied heap are kept. The helper thread gives them back after kKeptNs.
/// Without it the program may never call again; then they are kept only if it needed such pages
/// again within kKeptNs after the heap had emptied before. Threads may overwrite each other's
/// values: then pages are kept once more, or once less.
bool SmallHeap::keeps_emptied(uint64_t now, size_t active, size_t dirty) {
  const uint64_t since = now - emptied_ns_.load(std::memory_order_relaxed);
  if (kept_.load(std::memory_order_relaxed))
    return since <= kKeptNs;
  const size_t left = left_pages_.load(std::memory_order_relaxed),
               unused = unused_pages_.load(std::memory_order_relaxed);
  const bool again = (config_.may_keep && config_.may_keep()) ||
                     (unused != 0 && since <= kKeptNs && active + dirty >= left + unused / 2);
  emptied_ns_.store(now, std::memory_order_relaxed);
  left_pages_.store(active, std::memory_order_relaxed);
  unused_pages_.store(dirty, std::memory_order_relaxed);
  kept_.store(again, std::memory_order_relaxed);
  return again;
}

bool SmallHeap::give_back_emptied() {
  if (kept_.load(std::memory_order_relaxed) &&
      region_->os().now_ns() > emptied_ns_.load(std::memory_order_relaxed) + kKeptNs)
    purge();
  return kept_.load(std::memory_order_relaxed);
}

void SmallHeap::look(jemalloc_thread *tsd, bool freed, unsigned events) {
  uint64_t now = region_->os().now_ns(), due = next_tick_ns_.load(std::memory_order_relaxed);
  bool timely = now >= due && next_tick_ns_.compare_exchange_strong(due, now + kTickNs,
                                                                    std::memory_order_relaxed);
  bool emptied = false;
  if (freed && (timely || events % kEventsPerSum == 0)) {
    size_t active = 0, dirty = 0, muzzy = 0;
    for_each_arena([&](jemalloc_arena *arena) {
      unsigned threads = 0;
      const char *dss;
      ssize_t dirty_ms, muzzy_ms;
      jepriv_arena_basic_stats_merge(tsd, arena, &threads, &dss, &dirty_ms, &muzzy_ms, &active,
                                     &dirty, &muzzy);
    });
    emptied = dirty > max_of<size_t>(config_.cache_bytes / kBasePageBytes, active);
    if (emptied && keeps_emptied(now, active, dirty))
      emptied = false;
    else // used again, or returned now
      kept_.store(false, std::memory_order_relaxed);
  }
  if (timely || emptied)
    for_each_arena([&](jemalloc_arena *arena) { jepriv_arena_decay(tsd, arena, false, emptied); });
  if (timely && main_.live_bytes() >= SmallPacking::kLeastRoomBytes && packing_.due(now))
    count_classes(now);
  if (timely && config_.serves_process && !grows_further_.load(std::memory_order_relaxed) &&
      main_.live_bytes() >= kLongGrowthFrom * arenas_in_use_.load(std::memory_order_relaxed) &&
      !grows_further_.exchange(true))
    growth_due_.store(true, std::memory_order_relaxed);
}

#if SMALLOC_JEMALLOC_RELEASE == 50300
// private_jemalloc.sh makes jemalloc call libsmalloc's handlers below.
void SmallHeap::intercept_events() {}

} // namespace smalloc

extern "C" {
void jesys_tcache_gc_event_handler(jemalloc_thread *tsd, uint64_t elapsed) {
  jepriv_tcache_gc_event_handler(tsd, elapsed);
  smalloc::g_small.tick(tsd, false);
}
void jesys_tcache_gc_dalloc_event_handler(jemalloc_thread *tsd, uint64_t elapsed) {
  jepriv_tcache_gc_dalloc_event_handler(tsd, elapsed);
  smalloc::g_small.tick(tsd, true);
}
}
#else
namespace {
void (*g_jemallocs_handler)(jemalloc_thread *);

/// Reports the event as a free, since 5.3.1 has one event for both.
void handle_event(jemalloc_thread *tsd) {
  g_jemallocs_handler(tsd);
  g_small.tick(tsd, true);
}
} // namespace

void SmallHeap::intercept_events() {
  g_jemallocs_handler = jepriv_tcache_gc_te_handler.event_handler;
  jepriv_tcache_gc_te_handler.event_handler = handle_event;
}

} // namespace smalloc
#endif
