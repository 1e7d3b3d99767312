// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime_promote.cpp computes the credit of promotion points and of elapsed time, and spends it on
// units that wait for promotion.
#include "smalloc/agent/agent.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/core/promotion_thread.h"
#include "smalloc/core/runtime.h"
#include "smalloc/small/node_heaps.h"

#include <signal.h>

namespace smalloc {
namespace {
/// Time for which one promotion point may stop the program, even if the point itself is worth less.
constexpr uint64_t kPauseNs = 2000000;
/// Time between two allocator calls that spend earned credit: promotion takes a fifth of the time
/// while the credit lasts.
constexpr uint64_t kBetweenFundedNs = 5 * kPauseNs;
/// Factor between a page walk and a saved miss. Independent accesses overlap their walks, so a
/// saved miss of a hash probe or a match finder is worth about an eighth of the walk. Measured:
/// with superpages 16 M probes of 512 MiB run 0.05 s faster, an LZMA dictionary of 128 MiB about 1
/// s of 12. A saved miss of a dependent access is worth the whole walk. A promotion point cannot
/// distinguish them. For big objects and mapped ranges it counts as the cheaper kind: better late
/// than at a loss. For the heaps of small objects it counts whole.
constexpr uint64_t kOverlappedWalks = 8;
constexpr uint64_t kSmallTouch = 4096; ///< a promotion point with fewer misses is only counted
/// No loop runs that long. The count of an inner loop that does not run may be negative, modulo
/// 2^64, and counts as none.
constexpr uint64_t kMostMisses = uint64_t{1} << 56;
constexpr uint64_t kEarlyLiveBytes = uint64_t{8} << 20;
constexpr unsigned kTouchesPerLook = 4096;
/// Time between two looks of a thread at batches. Batches of short loops come every microsecond,
/// which is the cost of a look.
constexpr uint64_t kBetweenLooksNs = 100000;

struct TouchThread {
  uint64_t misses;
  uint64_t looked_ns; ///< time of the last look at a batch
  unsigned calls;
};
__thread TouchThread t_touch __attribute__((tls_model("initial-exec")));
} // namespace

void Runtime::promote_small(SmallPages &pages, uint64_t credit_ns, uint64_t counted_ns) {
  if (options_.promote == PromotePolicy::kOff)
    return;
  if (credit_ns) {
    pages.earn(credit_ns, counted_ns);
    pages.note_worth(credit_ns);
  }
  // Counted credit comes from loops, and these may run in signal handlers.
  if (SMALLOC_UNLIKELY(g_agent.active()) && !counted_ns && &pages == &g_small.main_pages())
    if (const uint64_t promised = promised_to_small(pages.live_bytes()))
      pages.earn(promised, promised);
  if (!counted_ns && pages.follows_fill())
    wake_helper();
  pages.earn_time();
  pages.promote(price_, max_of(kPauseNs, credit_ns), options_.promote == PromotePolicy::kEager);
  if (&pages == &g_small.main_pages() && !pages.pending() && pages.live_bytes() >= kEarlyLiveBytes)
    promote_early_objects();
  publish_sites();
}

/// Collapses what the process had requested while it was small. A program's first objects may be
/// its hottest: the upper levels of a tree.
void Runtime::promote_early_objects() {
  if (serves_process() && future_lock() == FutureLock::kNone && !options_.budget_bytes &&
      !options_.budget_percent && options_.pages != PageBacking::kBase && region_.thp_allowed() &&
      g_small.main_pages().pay_for(price_,
                                   [] { return g_runtime.joining_heap_.collapse_early(kLinux); }))
    publish_joining_heap();
}

/// Records the superpages of big objects that have lost some to other objects, or got some while
/// they were filled.
void Runtime::publish_sites() {
  while (BigObjects::Handle loser = big_.next_unrecorded())
    g_accounts.big_promoted(region_.unit_address(loser.slice, loser.head),
                            loser.object->superpages);
}

int Runtime::freeze_class_heap() {
  if (!g_small.class_frozen()) {
    g_small.freeze_class();
    counters().freezes.add();
  }
  return 0;
}

long Runtime::migrate_class_heap() {
  freeze_class_heap();
  g_small.main_pages().lower_reach(0); // which serves the class heap's later requests
  if (!region_.thp_allowed() || g_small.class_pages().live_bytes() == 0)
    return 0;
  KeepErrno keep;
  uint64_t began = kLinux.now_ns();
  long units = static_cast<long>(g_small.class_pages().promote_all(price_));
  counters().migration_ns.add(kLinux.now_ns() - began);
  counters().class_units_collapsed.set(static_cast<uint64_t>(units));
  return units;
}

void Runtime::promote_big(const BigObjects::Handle &h, uint64_t credit_ns, uint64_t pause_ns) {
  big_.promote(h, price_, credit_ns, pause_ns, options_.promote == PromotePolicy::kEager);
  publish_promoted(h);
}

void Runtime::publish_promoted(const BigObjects::Handle &h) {
  publish_sites();
  g_accounts.big_promoted(region_.unit_address(h.slice, h.head),
                          h.object->units ? h.object->superpages : 0);
}

void Runtime::promote_mapped(const void *p, uint64_t misses) {
  struct SavedWalks {
    const WalkCost &walk;
    uint64_t misses;
  } saved{walk_, misses};
  KeepErrno keep;
  const auto worth_of = [](size_t bytes, void *data) {
    auto &walks = *static_cast<SavedWalks *>(data);
    return walks.walk.nanoseconds(walks.misses, bytes) / kOverlappedWalks;
  };
  mapped_.touched(p, {worth_of, &saved}, price_, kPauseNs,
                  options_.promote == PromotePolicy::kEager);
}

/// True if all locks that a promotion takes unconditionally become free soon. Loops may run in
/// signal handlers, and the interrupted code may hold a lock.
bool Runtime::locks_come_free() {
  return big_.lock_comes_free() && g_small.main_pages().lock_comes_free() &&
         g_small.class_pages().lock_comes_free() && g_node_heaps.pages().lock_comes_free() &&
         g_accounts.lock_comes_free();
}

void Runtime::touching(const void *p, uint64_t saved_misses) {
  if (!g_range.contains(p) && !mapped_.any())
    return;
  TouchThread &t = t_touch;
  if (saved_misses == 0 || saved_misses > kMostMisses)
    saved_misses = 1;
  t.misses += saved_misses;
  if (saved_misses < kSmallTouch && ++t.calls < kTouchesPerLook)
    return;
  KeepErrno keep;
  if (saved_misses == SMALLOC_TOUCH_BATCH) {
    const uint64_t now = kLinux.now_ns();
    if (now - t.looked_ns < kBetweenLooksNs)
      return;
    t.looked_ns = now;
  }
  uint64_t misses = t.misses;
  t.misses = 0;
  t.calls = 0;
  if (!running() || options_.promote == PromotePolicy::kOff)
    return;
  if (!g_range.contains(p))
    return promote_mapped(p, misses);
  if (broken_.due() && locks_come_free())
    broken_.mend(walk_.nanoseconds(misses, counters().big_bytes_now.get()) / kOverlappedWalks,
                 kPauseNs, price_);
  Slice slice = region_.slice_of(p);
  if (slice == Slice::kBigBase || slice == Slice::kBigSuper) {
    bool short_of_superpages = region_.short_of_superpages();
    if (slice == Slice::kBigSuper && !short_of_superpages && !big_.pending())
      return;
    BigObjects::Handle h = big_.find_soon(p);
    if (!h)
      return;
    uint64_t credit = walk_.nanoseconds(misses, h.object->bytes) / kOverlappedWalks;
    if (h.object->pending && locks_come_free())
      promote_big(h, credit, max_of(kPauseNs, credit));
    else if (short_of_superpages)
      big_.note_worth(h, credit);
  } else if (slice == Slice::kSmallBase || slice == Slice::kSmallSuper || slice == Slice::kNode) {
    SmallPages &pages = slice == Slice::kNode ? g_node_heaps.pages() : g_small.main_pages();
    const uint64_t saved = walk_.nanoseconds(misses, pages.live_bytes());
    if (pages.pending() && locks_come_free())
      promote_small(pages, saved, saved);
    else if (region_.short_of_superpages())
      pages.note_worth(saved);
  }
}

namespace {
/// Iterates over all heaps, one after the other: the upper bits hold the heap.
constexpr unsigned kHeapShift = 56, kHeaps = 4;
SmallPages *small_heap_of(uint64_t heap) {
  if (heap == 3)
    return g_node_heaps.ready() ? &g_node_heaps.pages() : nullptr;
  return heap == 1 ? &g_small.main_pages() : &g_small.class_pages();
}
char *next_superpage(uint64_t &from) {
  for (uint64_t heap = from >> kHeapShift; heap < kHeaps; heap++) {
    uint64_t at = from & ((uint64_t{1} << kHeapShift) - 1);
    SmallPages *small = heap ? small_heap_of(heap) : nullptr;
    char *unit = small       ? small->next_superpage(at)
                 : heap == 0 ? g_runtime.big().next_superpage(at)
                             : nullptr;
    from = unit ? heap << kHeapShift | at : (heap + 1) << kHeapShift;
    if (unit)
      return unit;
  }
  return nullptr;
}
bool counts_superpage(const char *unit) {
  switch (g_runtime.region().slice_of(unit)) {
  case Slice::kBigBase:
  case Slice::kBigSuper:
    return g_runtime.big().counts_superpage(unit);
  case Slice::kNode:
    return g_node_heaps.pages().counts_superpage(unit);
  case Slice::kClass:
    return g_small.class_pages().counts_superpage(unit);
  default:
    return g_small.main_pages().counts_superpage(unit);
  }
}
} // namespace

void Runtime::given_back(const void *start, size_t bytes) {
  if (!g_range.contains(start) || bytes == 0 || !running())
    return;
  const Slice slice = region_.slice_of(start);
  if (slice == Slice::kBigBase || slice == Slice::kBigSuper)
    big_.given_back(static_cast<const char *>(start), bytes);
}

void Runtime::watch_forks() {
  broken_.init(region_, {next_superpage, counts_superpage, promotion_thread_is_paused});
}

/// True in a signal handler, which runs with its signal blocked.
static bool is_in_handler() {
  sigset_t blocked;
  return pthread_sigmask(SIG_SETMASK, nullptr, &blocked) != 0 || !sigisemptyset(&blocked);
}

void Runtime::note_fork(bool in_child) {
  if (!running() || options_.promote == PromotePolicy::kOff || !region_.thp_allowed())
    return;
  KeepErrno keep;
  broken_.forked(in_child, is_in_handler());
  if (broken_.wants_helper()) // the program may never call the allocator again
    wake_helper();
}

void Runtime::promote_by_time() {
  if (!running() || options_.promote == PromotePolicy::kOff)
    return;
  KeepErrno keep;
  // First the time that another thread may have stored, then the clock: the difference is not
  // negative.
  uint64_t from = time_credit_from_ns_.load(std::memory_order_acquire);
  const uint64_t now = kLinux.now_ns();
  if (now < from)
    return;
  bool eager = options_.promote == PromotePolicy::kEager;
  uint64_t credit = from ? (now - from) / kTimePerCollapseTime : 0;
  const bool funded =
      (big_.is_funded() || g_small.main_pages().is_funded()) && now - from >= kBetweenFundedNs;
  if (from && credit < static_cast<uint64_t>(price_.ns()) && !eager && !funded)
    return;
  if (!time_credit_from_ns_.compare_exchange_strong(from, now) || from == 0)
    return;
  if (broken_.due())
    broken_.mend(eager ? max_of<uint64_t>(kPauseNs, credit) : credit, kPauseNs, price_);
  else if (BigObjects::Handle h = big_.next_pending(pending_cursor_)) {
    big_.promote_by_time(h, price_, now - from, kPauseNs, eager);
    publish_promoted(h);
  } else if (g_small.main_pages().pending())
    promote_small(g_small.main_pages(), credit);
  else if (g_node_heaps.ready() && g_node_heaps.pages().pending())
    promote_small(g_node_heaps.pages(), credit);
}

size_t Runtime::trim() {
  if (!running())
    return 0;
  uint64_t before = counters().pages_released.get();
  big_.trim();
  g_bitmap_heap.trim();
  g_small.trim();
  if (g_node_heaps.ready())
    g_node_heaps.pages().purge_again();
  return (counters().pages_released.get() - before) * kBasePageBytes;
}

} // namespace smalloc
