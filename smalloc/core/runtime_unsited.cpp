// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime_unsited.cpp serves requests without a site: those of malloc's family, by size and
// strategy, and those of the C API, by page kind. It also sets the sizes that malloc's entry may
// serve from the thread's cache without calling here (thread_cache.h).
#include "smalloc/agent/agent.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/base/sleep.h"
#include "smalloc/core/promotion_thread.h"
#include "smalloc/core/runtime.h"
#include "smalloc/include/smalloc/smalloc.h"
#include "smalloc/jemalloc/thread_cache.h"
#include "smalloc/process/fork_locks.h"
#include "smalloc/process/own_image.h"
#include "smalloc/process/process_memory.h"
#include "smalloc/sites/modules.h"
#include "smalloc/sites/object_placement.h"

#include <time.h>
#include <unistd.h>

namespace smalloc {
static_assert(JoiningHeap::kMostCachedBytes == kMostCached &&
              JoiningHeap::kLeastRowBytes <= kMostCachedLookup);

/// Returns the limits of requests that the thread's cache may serve without another test: those
/// that jemalloc's table knows, and larger ones. Under heap:auto only those that are no rows.
static void cache_limits(HeapStrategy strategy, size_t &below, size_t &larger_below) {
  const bool rows = strategy == HeapStrategy::kAuto;
  below = rows ? JoiningHeap::kLeastRowBytes : kMostCachedLookup + 1;
  larger_below = rows ? 0 : kMostCached + 1;
}

/// Lets every request of usual alignment use the thread's cache, and this thread's others go to
/// jemalloc for a while.
void Runtime::arm_any() {
  const bool packs = g_small.packs();
  t_small.any_bytes = packs ? 0 : kDirectBytes;
  const bool cached = cache_is_known() && !packs;
  size_t below = 0, larger_below = 0;
  if (cached)
    cache_limits(strategy_, below, larger_below);
  if (SMALLOC_UNLIKELY(g_malloc_entry.cached_below.load(std::memory_order_relaxed) != below)) {
    g_malloc_entry.cached_below.store(below, std::memory_order_relaxed);
    g_malloc_entry.larger_cached_below.store(larger_below, std::memory_order_relaxed);
  }
}

/// True if the layout of jemalloc's thread cache is known (thread_cache.h). REQUIRES: the calling
/// thread is bound to an arena and has an object.
bool Runtime::cache_is_known() {
  if (SMALLOC_UNLIKELY(!cache_looked_at_.load(std::memory_order_relaxed)) &&
      !cache_looked_at_.exchange(true)) {
    const bool known = thread_cache_is_known([](const void *p) { return g_range.contains(p); });
    cache_known_.store(known);
    size_t below = 0, larger_below = 0;
    if (known)
      cache_limits(strategy_, below, larger_below);
    g_malloc_entry.direct_below.store(below, std::memory_order_relaxed);
    g_malloc_entry.larger_direct_below.store(larger_below, std::memory_order_relaxed);
    // The lookup has run code of jemalloc's control interface.
    if (!options_.text_on_superpages)
      drop_own_file_pages();
    if (known && region_.start() % (size_t{1} << kPagePartShift) == 0)
      KnownPages::cover(g_range.main_heap_bytes.load(std::memory_order_relaxed));
  }
  return cache_known_.load(std::memory_order_relaxed);
}

/// Lets malloc's entry forward requests of foreign sizes to the program's malloc, while no unit
/// waits for promotion. A unit that begins to wait ends that (Region::add_pending). It may do so
/// between the test and the store, so test again.
void Runtime::forward_to_program_malloc() {
  if (__atomic_load_n(&__smalloc_v1_pending, __ATOMIC_SEQ_CST) != 0)
    return;
  g_malloc_entry.foreign_below.store(foreign_below_.load(std::memory_order_relaxed));
  if (__atomic_load_n(&__smalloc_v1_pending, __ATOMIC_SEQ_CST) != 0)
    g_malloc_entry.foreign_below.store(0);
}
/// True if the calling thread has made kCallsPerLook calls since its last look.
static bool looks_now() {
  if (static_cast<int>(--t_small.calls_until_look) >= 0)
    return false;
  t_small.calls_until_look = kCallsPerLook;
  return true;
}

static constexpr PromotionWork kPromotionWork = {
    [] { return g_runtime.watches_fills(); }, [](bool all) { return g_runtime.look_ahead(all); },
    [] { g_runtime.promote_by_time(); }, [] { return g_runtime.give_back_idle(); },
    [] { return g_runtime.keeps_unused(); }};

/// Starts the helper thread if it is not running and has work. It has work under promote:thread.
/// Otherwise it has work
///   - while big objects wait to be filled (`watches`),
///   - after a fork that has broken superpages (`mends`),
///   - while smaller objects that were requested early wait to be filled, in malloc's heap
///     (`follows`) or in size classes (`rows`),
///   - while the free top of malloc's heap may be kept (`keeps`).
/// The first case needs 8 MiB of big objects, the others 32 MiB of such memory: less is not worth
/// an additional thread.
void Runtime::wake_helper() {
  if (options_.promote == PromotePolicy::kOff || !options_.helper_thread)
    return;
  const bool watches = big_.watched() && counters().big_bytes_now.get() >= kLeastWatchedBytes;
  const bool mends = broken_.wants_helper() &&
                     counters().superpages_now.get() >= kLeastMendedBytes / kSuperpageBytes;
  const bool keeps = joining_heap_.is_large() && options_.cache_bytes != 0,
             follows = joining_heap_.waits() || keeps, rows = g_small.main_pages().follows_fill();
  // A block of the new thread would lie at the end of malloc's heap, which could not be given back
  // below it. So the heap of small objects serves from now on.
  if (follows)
    outgrown_.store(true, std::memory_order_relaxed);
  if (watches || mends || follows || rows || options_.promote == PromotePolicy::kThread)
    promotion_thread_wake(kPromotionWork, /*calls_malloc=*/keeps);
  if (watches && big_.watch_begun())
    promotion_thread_hurry();
}

bool Runtime::watches_fills() const {
  return big_.watched() != 0 || joining_heap_.waits() || g_small.main_pages().follows_fill();
}

unsigned Runtime::look_ahead(bool all) {
  const unsigned joined = max_of(joining_heap_.look_ahead(kLinux, first_touch_cost_),
                                 g_small.main_pages().look_ahead());
  publish_joining_heap();
  if (!big_.watched())
    return joined;
  const unsigned grown =
      max_of(joined, big_.look_ahead([] { return process_memory(kLinux).resident_bytes; }, all));
  publish_sites();
  return grown;
}

namespace {
/// Requested bytes between two reads of the process' size, which take 10 us: a quarter of all that
/// was requested, within these bounds. A small process may request much and free it again.
constexpr uint64_t kLeastLookBytes = uint64_t{1} << 20, kMostLookBytes = uint64_t{16} << 20;
/// The heap of small objects costs about 1.3 MB and a millisecond. It starts when a process has
/// this much anonymous memory; before, the program's malloc serves. Many programs request all their
/// arrays before they fill the first. So it also starts when a process of one thread has mapped
/// kLeastMappedBytes, touched or not (the stacks of threads would count), and with the big object
/// that makes the sum of all big requests kLeastFirstBytes.
constexpr uint64_t kLeastAnonymousBytes = uint64_t{3} << 20, kLeastMappedBytes = uint64_t{16} << 20;
constexpr size_t kLeastFirstBytes = size_t{8} << 20;
/// It starts in a smaller process too once small requests have had this many bytes. Its thread
/// cache takes 3 ns less a call than the program's malloc with this test (benchmarks/throughput,
/// pair), so these requests would have saved the start's millisecond.
constexpr uint64_t kLeastBusyBytes = uint64_t{16} << 20;
constexpr size_t kMostBusyRequest = 1024;

std::atomic<uint64_t> g_early_bytes{0}, g_big_bytes{0}, g_busy_bytes{0},
    g_next_look{kLeastLookBytes};

/// Counts `spent` bytes that a thread has requested, the last `bytes` of them in one request. True:
/// small requests have had enough bytes. A thread comes here once in kAddEveryBytes. All of these
/// bytes count as small or large like the last request; on average the shares are right.
bool is_busy(size_t bytes, uint64_t spent) {
  return bytes <= kMostBusyRequest &&
         g_busy_bytes.fetch_add(spent, std::memory_order_relaxed) + spent >= kLeastBusyBytes;
}

/// True if the process has memory worth a heap of small objects.
bool is_large() {
  const ProcessMemory memory = process_memory(kLinux);
  return memory.anonymous_bytes >= kLeastAnonymousBytes ||
         (!has_had_threads() && memory.data_bytes >= kLeastMappedBytes);
}

} // namespace

/// True if the process is large enough for a heap of small objects, or the request for one of big
/// objects (heap:auto). Before the C library has set `environ`, SMALLOC_CONF cannot be read, so
/// nothing starts.
bool Runtime::outgrows_program_malloc(size_t bytes) {
  if (!environ)
    return false;
  if (bytes >= kSuperpageBytes &&
      (running() ||
       g_big_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes >= kLeastFirstBytes))
    return true;
  // A big object is not counted: after one of 256 MiB, looks would be 16 MiB apart, and small
  // objects would stay in the program's malloc meanwhile.
  const uint64_t spent = (bytes < kSuperpageBytes ? max_of(bytes, kLeastChunkBytes) : 0) +
                         (t_small.early_left ? kAddEveryBytes - t_small.early_left : 0),
                 requested = g_early_bytes.fetch_add(spent, std::memory_order_relaxed) + spent;
  t_small.early_left = kAddEveryBytes;
  const bool busy = is_busy(bytes, spent);
  uint64_t due = g_next_look.load(std::memory_order_relaxed);
  const uint64_t next = requested + min_of(max_of(requested / 4, kLeastLookBytes), kMostLookBytes);
  if (!busy && (requested < due ||
                !g_next_look.compare_exchange_strong(due, next, std::memory_order_relaxed)))
    return false;
  KeepErrno keep;
  if (!busy && !is_large())
    return false;
  t_small.early_left = 0;
  outgrown_.store(true, std::memory_order_relaxed);
  return true;
}

/// Allocates from the bitmap heap, which a process starts when it is no longer small. nullptr: the
/// program's malloc has to serve. REQUIRES: 0 < bytes <= BitmapHeap::kMostBytes.
void *Runtime::bitmap_allocate(size_t bytes) {
  if (SMALLOC_LIKELY(g_bitmap_heap.is_open()))
    return g_bitmap_heap.allocate(bytes);
  return stays_small(bytes) ? nullptr : first_bitmap_allocate(bytes);
}

/// Starts the heaps if the process has outgrown the program's malloc, and allocates.
void *Runtime::first_bitmap_allocate(size_t bytes) {
  if (is_off() || (running() && !g_bitmap_heap.can_open()) ||
      (!g_small.ready() && !outgrown_.load(std::memory_order_relaxed) &&
       !outgrows_program_malloc(bytes)))
    return nullptr;
  options();
  if (strategy_ != HeapStrategy::kAuto || (!ready() && !wait_for_start()) || !sites_served_ ||
      !g_small.start())
    return nullptr;
  g_bitmap_heap.open();
  return g_bitmap_heap.allocate(bytes);
}

/// Waits for another thread that starts the heaps, which takes a millisecond: objects from the
/// program's malloc would stay there. The wait is bounded, since the starting thread may need a
/// lock that this one holds. False: the heaps do not run, or this thread is starting them.
bool Runtime::wait_for_start() {
  constexpr unsigned kMostWaits = 400;
  if (t_small.starting)
    return false;
  KeepErrno keep;
  for (unsigned i = 0; i < kMostWaits; i++) {
    const HeapState state = state_.load(std::memory_order_acquire);
    if (state == HeapState::kOff || (state == HeapState::kReady && !g_small.is_starting()))
      break;
    sleep_ns(50000);
  }
  return running() && g_small.ready();
}

/// Serves a request when libsmalloc is the process' malloc. Runs promotions that are due, and gives
/// the thread a new budget for direct requests.
void *Runtime::any_allocate(size_t bytes, size_t alignment, bool zero, const void *caller) {
  if ((SMALLOC_UNLIKELY(!ready()) && !wait_for_start()) || !sites_served_)
    return nullptr;
  if (__smalloc_v1_pending && (!g_accounts.tracks_small() || looks_now()))
    promote_by_time();
  const bool big = bytes >= kSuperpageBytes || alignment > kSuperpageBytes;
  void *p;
  if (!big) {
    if (SMALLOC_UNLIKELY(g_small.is_starting()) && !wait_for_start())
      return nullptr;
    if (joins_by_size(bytes, zero) && alignment <= kMallocAlignment)
      return joining_allocate(nullptr, bytes, zero);
    g_small.main_pages().lower_reach(0); // every full unit may be collapsed
    p = small_allocate(bytes, alignment, zero);
  } else if (strategy_ == HeapStrategy::kSuperpage) {
    p = big_allocate(max_of<size_t>(bytes, 1), alignment, zero, FirstTouch::kSuperpages);
  } else {
    p = filling_allocate(max_of<size_t>(bytes, 1), alignment, zero, nullptr, caller);
  }
  if (p && !big && !g_accounts.tracks_small())
    arm_any();
  if (p && SMALLOC_UNLIKELY(__smalloc_v1_pending))
    wake_helper();
  return p;
}

/// Allocates a big object that is not proved to be written (heap:auto). It gets superpages at first
/// touch if the program filled the last objects of this origin (the site, else the caller).
/// Otherwise it gets them ahead of the fill if it is large enough for the helper thread. Otherwise
/// it has base pages.
void *Runtime::filling_allocate(size_t bytes, size_t alignment, bool zero, smalloc_cell *cell,
                                const void *caller) {
  BigRequest request;
  request.bytes = bytes;
  request.alignment = alignment;
  request.zero = zero;
  request.promotable = options_.promote != PromotePolicy::kOff;
  request.history = FillHistory::key(cell ? static_cast<const void *>(cell) : caller, bytes);
  request.placement = cell ? g_placement.of(cell) : numa::Placement();
  if (g_directives.any() && (options_.budget_bytes || options_.budget_percent)) {
    // The superpages of the budget belong to the sites that a profile has named.
  } else if (big_.fills().trusts(request.history)) {
    request.superpages_at_first_touch = true;
    request.if_cheap = true;
  } else if (bytes >= kLeastAheadBytes && request.promotable &&
             !big_.fills().knows_sparse(request.history)) {
    request.superpages_at_first_touch = true;
    request.ahead = true;
  }
  return big_allocate(request, g_accounts.account_of(cell));
}

void *Runtime::sized_allocate(size_t bytes, size_t alignment, bool zero, const void *caller) {
  if (SMALLOC_UNLIKELY(is_off()))
    return nullptr;
  if (SMALLOC_UNLIKELY(!running()) && !options_read_.load(std::memory_order_acquire) &&
      !outgrows_program_malloc(bytes))
    return nullptr;
  options();
  const HeapStrategy heap = strategy_;
  if (heap == HeapStrategy::kAuto && !g_small.ready() &&
      !outgrown_.load(std::memory_order_relaxed) && !outgrows_program_malloc(bytes))
    return nullptr;
  if (serves_process())
    return any_allocate(bytes, alignment, zero, caller);
  static std::atomic<uint64_t> requested{0};
  if (looks_now() && __smalloc_v1_pending)
    promote_by_time();
  // The reach is known once the heaps run. Before, every size that may hold a superpage needs a
  // test.
  size_t least_big = running() ? max_of<size_t>(kSuperpageBytes, reach_bytes_) : kSuperpageBytes;
  // In a program with sites only these are served, in any other its big objects.
  if (heap == HeapStrategy::kGuest)
    foreign_below_.store(modules_seen() ? SIZE_MAX : least_big, std::memory_order_relaxed);
  else if (heap == HeapStrategy::kOff)
    foreign_below_.store(SIZE_MAX, std::memory_order_relaxed);
  forward_to_program_malloc();
  if (heap == HeapStrategy::kOff || (heap == HeapStrategy::kGuest && modules_seen()))
    return nullptr;
  if (heap == HeapStrategy::kMigrate && bytes < kSuperpageBytes && alignment <= kSuperpageBytes) {
    if (requested.load(std::memory_order_relaxed) < kSiteWarmupBytes) {
      requested.fetch_add(bytes, std::memory_order_relaxed);
      return nullptr;
    }
    if (!ready() || !sites_served_)
      return nullptr;
    g_small.class_pages().lower_reach(reach_bytes_);
    void *p = class_allocate(bytes, alignment, zero);
    if (p && SMALLOC_UNLIKELY(__smalloc_v1_pending))
      wake_helper();
    return p;
  }
  if (bytes < least_big || !ready() || !sites_served_ || bytes < reach_bytes_)
    return nullptr;
  void *p = big_allocate(bytes, alignment, zero, FirstTouch::kBase);
  if (p)
    wake_helper();
  return p;
}

/// Promotes what is due: a program without sites may call no other function of libsmalloc.
void *Runtime::kind_allocate(size_t bytes, size_t alignment, bool zero, int kind) {
  if (!ready())
    return nullptr;
  const bool big = bytes >= kSuperpageBytes || alignment > kSuperpageBytes;
  if (__smalloc_v1_pending && (big || looks_now()))
    promote_by_time();
  void *p = nullptr;
  if (big) {
    p = big_allocate(max_of<size_t>(bytes, 1), alignment, zero,
                     kind == SMALLOC_BASE ? FirstTouch::kBase : FirstTouch::kSuperpages,
                     kind == SMALLOC_SUPERPAGE);
  } else if (kind == SMALLOC_BASE) {
    p = class_allocate(bytes, alignment, zero);
  } else {
    g_small.main_pages().lower_reach(0); // like a decided site
    p = small_allocate(bytes, alignment, zero);
  }
  if (p && SMALLOC_UNLIKELY(__smalloc_v1_pending))
    wake_helper();
  return p;
}

} // namespace smalloc
