// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime.h connects the exported functions in override/ with the heaps. Runtime starts the heaps
// at the first request that they have to serve, never earlier. It starts them only if the process'
// free() is libsmalloc's, and if the settings and the administrator's limits permit. For each
// request it selects the heap, or returns nullptr: then the program's malloc serves. Every exported
// function ends here.
#ifndef SMALLOC_CORE_RUNTIME_H
#define SMALLOC_CORE_RUNTIME_H

#include "smalloc/base/folded.h"
#include "smalloc/big/big_objects.h"
#include "smalloc/config/options.h"
#include "smalloc/include/smalloc/site.h"
#include "smalloc/os/hugetlb.h"
#include "smalloc/os/locked_memory.h"
#include "smalloc/pages/broken_superpages.h"
#include "smalloc/pages/mapped_ranges.h"
#include "smalloc/process/resident_peak.h"
#include "smalloc/process/run_costs.h"
#include "smalloc/sites/site_accounts.h"
#include "smalloc/small/bitmap_heap.h"
#include "smalloc/small/joining_heap.h"
#include "smalloc/small/small_heap.h"

namespace smalloc {

class RunLine;
struct RunReport;

/// The address range of libsmalloc's heaps. Before the start `bytes` is 0, and for good if the
/// address space is refused. `start` is then 2^63. A reader that sees the new length with the old
/// start still rejects every address of a program.
struct Range {
  std::atomic<uintptr_t> start{uintptr_t{1} << 63};
  std::atomic<size_t> bytes{0};
  /// The front part: the private jemalloc's memory, without the class heap.
  std::atomic<size_t> main_heap_bytes{0};
  /// Parts were returned to a program with little address space.
  std::atomic<bool> has_holes{false};
  size_t offset(const void *p) const { return reinterpret_cast<uintptr_t>(p) - folded(start); }
  /// True if `p` is in the range, parts returned to the program included.
  bool covers(const void *p) const {
    return reinterpret_cast<uintptr_t>(p) - start.load(std::memory_order_relaxed) <
           bytes.load(std::memory_order_relaxed);
  }
  bool contains(const void *p) const { return covers(p) && !is_in_hole(p); }
  /// REQUIRES: covers(p)
  bool is_in_hole(const void *p) const {
    return SMALLOC_UNLIKELY(has_holes.load(std::memory_order_relaxed)) && went_back(p);
  }

private:
  static bool went_back(const void *p);
};
extern Range g_range SMALLOC_NEAR;

/// The process' other allocator. libsmalloc's free, realloc and delete pass foreign pointers to it.
struct NextAllocator {
  void (*free)(void *);
  void *(*realloc)(void *, size_t);
  void *(*malloc)(size_t);
  size_t (*malloc_usable_size)(void *);
  size_t (*top_bytes)(); ///< of glibc's main heap: the free memory at its end; 0: not known
};
extern NextAllocator g_next; // set by override/

/// Requested bytes from which a site's undecided small objects may be served under heap:migrate.
inline constexpr uint64_t kSiteWarmupBytes = uint64_t{4} << 20;

/// heap:auto: the smallest object that gets superpages ahead of its fill, and the least bytes of
/// big objects for which the helper thread starts.
inline constexpr size_t kLeastAheadBytes = size_t{4} << 20;
inline constexpr uint64_t kLeastWatchedBytes = uint64_t{8} << 20;
/// The least bytes of superpages for which the helper thread starts after a fork.
inline constexpr uint64_t kLeastMendedBytes = uint64_t{32} << 20;

/// Bytes that a thread may take at direct sites before it goes through all tests once.
inline constexpr int64_t kDirectBytes = int64_t{64} << 10;
/// The same under heap:superpage, where every site is served: only promotions that are due wait for
/// it.
inline constexpr int64_t kDirectBytesOfAll = int64_t{1} << 20;
/// Bytes that a thread requests in a small process before it adds them to the process' sum.
inline constexpr uint32_t kAddEveryBytes = 64u << 10;
/// glibc's chunk for requests of 24 bytes and less.
inline constexpr size_t kLeastChunkBytes = 32;
/// While units wait for promotion, malloc looks for due promotions once in kCallsPerLook calls of a
/// thread.
inline constexpr unsigned kCallsPerLook = 1024;
/// The least bytes charged for a request that misses the thread's cache: it stands for those that
/// hit.
inline constexpr size_t kLeastDirectBytes = size_t{4} << 10;

class Runtime {
public:
  const Options &options(); ///< reads the environment at the first call
  /// True if the heaps run. Starts them unless something forbids it. False: the program's malloc
  /// serves.
  bool ready() {
    return SMALLOC_LIKELY(state_.load(std::memory_order_acquire) == HeapState::kReady) || start();
  }
  bool running() const { return state_.load(std::memory_order_acquire) == HeapState::kReady; }
  /// Shrinks the reservation: the program has limited its address space to `bytes` (RLIMIT_AS),
  /// which includes libsmalloc's range.
  void limit_address_space(uint64_t bytes);
  /// Records that the program's mlockall() has succeeded. `existing`: with MCL_CURRENT.
  void all_locked(bool existing, FutureLock future);
  /// Stops serving for good, with one warning line (`why` nullptr: silently). Allocated objects
  /// stay valid.
  void switch_off(const char *why);
  /// Warns once if the heaps are off because of the size of the system's base pages.
  void warn_of_base_pages();
  bool is_off() const { return state_.load(std::memory_order_relaxed) == HeapState::kOff; }
  void set_strategy(HeapStrategy strategy) { strategy_ = strategy; }
  HeapStrategy strategy() const { return strategy_; }
  /// Superpages whose first touch was timed, and their time; see FirstTouchCost.
  uint64_t touched_units() const { return first_touch_cost_.touched_units(); }
  uint64_t touched_ns() const { return first_touch_cost_.touched_ns(); }

  /// True if a request of a site with SMALLOC_CELL_DIRECT may go to jemalloc without another test.
  /// The thread's budget replaces the tests. A thread without budget is not bound to an arena yet,
  /// and a request above the budget is large. When the budget is used up, the slow path looks for
  /// due promotions.
  static bool may_be_direct(size_t bytes) {
    t_small.direct_bytes =
        static_cast<int64_t>(static_cast<uint64_t>(t_small.direct_bytes) - bytes);
    return t_small.direct_bytes >= 0;
  }
  /// Clears the budget if may_be_direct() has wrapped: with half of all addresses and more it adds
  /// to the budget, and permits all that follows.
  static void disarm_if_absurd(size_t bytes) {
    if (SMALLOC_UNLIKELY(bytes > SIZE_MAX / 2))
      t_small.direct_bytes = 0;
  }
  /// True if the program's malloc serves the site's small objects: heap:guest, and the compiler has
  /// decided.
  static bool bypasses_heaps(const smalloc_cell *cell, size_t bytes) {
    constexpr uint64_t kSmall = uint64_t{SMALLOC_SITE_SMALL} << 8 | SMALLOC_DECISION_RUNTIME;
    constexpr uint64_t kOthers =
        uint64_t{SMALLOC_SITE_UNDECIDED | SMALLOC_CELL_SERVED} << 8 | SMALLOC_CELL_JOINS |
        uint64_t{0x1f} << 24 /* decided_by: SMALLOC_BY_COMPILER is 0 */ | 0xff;
    return bytes < kSuperpageBytes &&
           (__atomic_load_n(&cell->word, __ATOMIC_RELAXED) & (kSmall | kOthers)) == kSmall;
  }
  /// True if the request may be for a row of a matrix: the thread has lately requested this size.
  /// Then the program's malloc serves it, whose headers keep the rows from sharing few sets of the
  /// caches. Requests of changing sizes are faster in the classes.
  static bool repeats(size_t bytes) {
    return may_be_row(bytes) && was_requested(bytes) && !t_small.other_arena;
  }
  /// Notes the size of a request that repeats() has denied, or that another heap serves.
  static void note_size(size_t bytes) {
    if (may_be_row(bytes) && !was_requested(bytes))
      t_small.sizes = t_small.sizes << 16 | bytes;
  }
  /// True if the bitmap heap serves requests of this size at sites of varying sizes.
  static bool is_for_bitmap(size_t bytes) {
    return bytes <= BitmapHeap::kMostBytes && JoiningHeap::takes(bytes) && !t_small.no_bitmap &&
           !repeats(bytes);
  }
  /// is_for_bitmap() of a request below JoiningHeap::kLeastRowBytes.
  static bool is_small_for_bitmap(size_t bytes) {
    return SMALLOC_UNLIKELY(JoiningHeap::takes_small(bytes)) && !t_small.no_bitmap;
  }
  /// True if the program's malloc serves requests of this size at sites of varying sizes: a row
  /// (repeats()), or a larger object while malloc serves the thread from its heap below the break.
  static bool is_for_malloc(size_t bytes) {
    return repeats(bytes) ||
           (bytes > BitmapHeap::kMostBytes && JoiningHeap::takes(bytes) && !t_small.other_arena);
  }
  /// True if requests of this size at these sites go to a heap that joins freed neighbours.
  static bool joins(size_t bytes) { return is_for_bitmap(bytes) || is_for_malloc(bytes); }
  static bool joins(const smalloc_cell *cell, size_t bytes) {
    return bytes < kSuperpageBytes && joins(bytes) &&
           (__atomic_load_n(&cell->word, __ATOMIC_RELAXED) & SMALLOC_CELL_JOINS);
  }
  /// True if the request goes there from any caller. Zeroed memory only up to the size that
  /// jemalloc writes as well: of a larger object the program may leave pages untouched. False with
  /// exact accounts (debug:on), which cover libsmalloc's heaps only.
  bool joins_by_size(size_t bytes, bool zero = false) const {
    return (repeats(bytes) || (JoiningHeap::takes_any(bytes) && !t_small.other_arena)) &&
           (!zero || bytes <= kMostJoinedZeroed) && strategy_ == HeapStrategy::kAuto &&
           !g_accounts.exact();
  }
  static constexpr size_t kMostJoinedZeroed = 14336; ///< jemalloc's largest class in slabs
  /// Allocates where freed neighbours are joined: small objects in the bitmap heap, others in the
  /// program's malloc. `cell`: nullptr for a request without a site. nullptr: no memory. When a
  /// thread has requested JoiningHeap::kLookBytes, they are counted for the calling site.
  /// REQUIRES: joins(cell, bytes).
  void *joining_allocate(smalloc_cell *cell, size_t bytes) {
    return cell && is_for_bitmap(bytes) ? bitmap_or_other(cell, bytes)
                                        : joining_allocate_slowly(cell, bytes, nullptr);
  }
  /// Acts as joining_allocate(). REQUIRES: is_for_bitmap(bytes).
  void *bitmap_or_other(smalloc_cell *cell, size_t bytes) {
    return bitmap_or(bytes, [&](void *p) { return joining_allocate_slowly(cell, bytes, p); });
  }
  /// Acts as joining_allocate(), also when the requests are to be counted. `cached`: an object of
  /// the request's size from the thread's cache; nullptr: it has none.
  void *joining_allocate_slowly(smalloc_cell *cell, size_t bytes, void *cached);
  /// Returns an object of the thread's cache. If it has none, or the requests are to be counted,
  /// returns slowly(cached) instead. REQUIRES: is_for_bitmap(bytes).
  template <class F> void *bitmap_or(size_t bytes, F slowly) {
    void *p = g_bitmap_heap.take_cached(bytes);
    if (SMALLOC_UNLIKELY(!p) || SMALLOC_UNLIKELY(!count_joined(bytes)))
      return slowly(p);
    note_size(bytes);
    return p;
  }
  void *joining_allocate(smalloc_cell *cell, size_t bytes, bool zero) {
    void *p = joining_allocate(cell, bytes);
    return p && zero ? memset(p, 0, bytes) : p;
  }
  /// Serves a request of a site. nullptr: the program's malloc has to serve.
  void *site_allocate(smalloc_cell *cell, size_t bytes, size_t alignment, bool zero);
  /// True if libsmalloc would serve a request of this site and size. Changes nothing.
  bool site_accepts(smalloc_cell *cell, size_t bytes);

  /// Registers memory that a site of the program has mapped itself.
  void site_mapped(smalloc_cell *cell, void *p, size_t bytes);

  /// True if the next allocator certainly serves a request of this size, without another test.
  /// False for one call in kCallsPerLook, which looks for due promotions.
  bool surely_foreign(size_t bytes) const {
    return bytes < folded(foreign_below_) && static_cast<int>(--t_small.calls_until_look) >= 0;
  }
  /// True if the program's malloc serves the request without another test: the process was small
  /// when this thread last looked, and the thread has requested less than kAddEveryBytes since
  /// (heap:auto).
  static bool stays_small(size_t bytes) {
    const size_t left = t_small.early_left, spent = max_of(bytes, kLeastChunkBytes);
    if (spent >= left)
      return false;
    t_small.early_left = static_cast<uint32_t>(left - spent);
    return true;
  }
  /// True if libsmalloc is the process' malloc and its heaps run. It then checks the arguments of
  /// every request.
  bool serves_all() const { return running() && sites_served_ && serves_process(); }
  /// True if libsmalloc is the process' malloc: heap:auto and heap:superpage.
  bool serves_process() const {
    return strategy_ == HeapStrategy::kAuto || strategy_ == HeapStrategy::kSuperpage;
  }
  /// Examines the objects of all heaps that wait to be filled, and gives superpages ahead of their
  /// fill. Returns by how many parts the fastest has grown. For the helper thread.
  unsigned look_ahead(bool all);
  /// True if objects of some heap wait to be filled.
  bool watches_fills() const;
  bool give_back_idle();
  bool keeps_unused() const;
  bool may_keep() const;
  bool may_keep_top() const;
  void make_room_beside_heap(uint64_t bytes);
  /// True if a request without a site, of usual alignment, may go to jemalloc without another test;
  /// see may_be_direct(). False unless libsmalloc is the process' malloc. Requests that the
  /// thread's cache serves do not come here.
  bool any_is_direct(size_t bytes) const {
    const size_t left = t_small.any_bytes, spent = max_of(bytes, kLeastDirectBytes);
    if (SMALLOC_UNLIKELY(spent >= left) || joins_by_size(bytes))
      return false;
    note_size(bytes);
    t_small.any_bytes = left - spent;
    return true;
  }
  /// Serves malloc's family and operator new. `caller` is the return address of the program's call.
  /// nullptr: the next allocator has to serve.
  void *sized_allocate(size_t bytes, size_t alignment, bool zero, const void *caller);

  /// True if a directive has decided the site.
  static bool is_directed(const smalloc_cell *cell) {
    return SMALLOC_WORD_DECIDED_BY(__atomic_load_n(&cell->word, __ATOMIC_RELAXED)) ==
           SMALLOC_BY_DIRECTIVE;
  }
  /// True if a directive requests base pages for the site.
  static bool is_refused(const smalloc_cell *cell) {
    return is_directed(cell) &&
           SMALLOC_WORD_DECISION(__atomic_load_n(&cell->word, __ATOMIC_RELAXED)) ==
               SMALLOC_DECISION_BASE;
  }
  /// True if realloc moves a growing object of the next allocator to a big object of libsmalloc
  /// (heap:auto). `bytes`: its new size. Starts the heaps as malloc(bytes) does.
  bool takes_over(size_t bytes);
  /// Copies the `had` bytes at `p`, an object of the next allocator that the program enlarges to
  /// `bytes` bytes. nullptr: it stays there. REQUIRES: takes_over(bytes), had < bytes.
  void *take_over(const void *p, size_t had, size_t bytes, smalloc_cell *cell, const void *caller);

  /// Serves the C API. `kind`: a page kind of smalloc.h.
  void *kind_allocate(size_t bytes, size_t alignment, bool zero, int kind);

  /// Frees `p`. REQUIRES: `p` is in libsmalloc's range.
  void release(void *p);
  size_t usable_bytes(const void *p);
  /// Reallocates an object of libsmalloc. REQUIRES: bytes > 0. nullptr with errno ENOMEM: the
  /// object is unchanged. `keeps_kind`: the new object has the page kind of the old one (the C
  /// API). Otherwise the strategy chooses. Under heap:guest and heap:migrate, an object that
  /// becomes big has base pages until promotion pays, and a big one that shrinks below
  /// kBackToMallocBytes goes to the program's malloc. `cell`: the site that resizes, or nullptr. An
  /// object that becomes big belongs to that site from then on.
  void *resize(void *p, size_t bytes, bool keeps_kind = false, smalloc_cell *cell = nullptr);

  /// Handles a fill point: the program is about to write `written` of the `range` bytes at `p`
  /// (__smalloc_v1_filling).
  void filling(const void *p, uint64_t range, uint64_t written);
  void touching(const void *p, uint64_t saved_misses);
  /// Promotes units at allocator calls, for programs without promotion points. Takes at most 3 % of
  /// the elapsed time, or an eighth for a big object that the program filled in no order.
  void promote_by_time();

  int freeze_class_heap();
  long migrate_class_heap();
  size_t trim();

  Region &region() { return region_; }
  /// Superpages of the program's static data and text. A stack is not included: it was only advised
  /// and may never be touched.
  uint64_t image_superpages() {
    return counters().static_superpages.get() + counters().text_superpages.get();
  }
  BigObjects &big() { return big_; }
  BrokenSuperpages &broken() { return broken_; }
  /// Handles memory that the program has released to the kernel by madvise().
  void given_back(const void *start, size_t bytes);
  const PageFallback &page_fallback() const { return page_fallback_; }
  Counters &counters() { return g_live.counters(); }
  ThpMode thp() const { return thp_; }
  uint64_t reach_bytes() const { return reach_bytes_; }
  const char *machine_name() const { return machine_name_; }
  /// Costs of this run so far, of the process and the children that it has waited for, for
  /// comparison in a history.
  RunCosts run_costs() const;
  /// Ends the agent's claim and reports the run, at the end of the process.
  void agent_end();
  void warn(Text text); ///< writes "smalloc: warning: " + text + newline

  void install_fork_handlers(); ///< idempotent; call it as early as possible; from any thread
  void before_fork();
  void after_fork();
  void after_fork_in_child();
  /// Sets the function to call in the child of a fork, once the counters count for the child.
  void on_fork_in_child(void (*hook)()) { in_fork_child_ = hook; }
  void before_fork_locks();

private:
  bool start();
  bool start_heaps();
  bool may_start();
  /// Switches everything off, for base pages that are not of 4 KiB.
  void refuse_base_pages(bool privileged);
  void set_walk_costs();
  void configure_small_heaps();
  void start_accounts();
  void publish_range();
  void unlock_after_fork(bool in_child);
  bool start_region();
  PageFallback::Config page_fallback_config() const;
  bool one_budget() const;
  Region::Config region_config(uint64_t most_pool_units);
  void start_mapped_ranges();
  BigObjects::Config big_config();
  bool reserve_range(Region::Config config);
  void load_directives();
  void start_agent();
  void show_agent();
  void describe_run(const char *path, const char *host, RunReport &report) const;
  void report_directives(RunLine &line);
  void publish_sites();
  void agent_has_forked();
  void agent_after_fork_in_child();
  SMALLOC_COLD void agent_charged(SiteAccounts::Account account);
  void migrate(Directives::Entry *entry);
  SMALLOC_COLD void warn_of_fallback();
  size_t bytes_to_reserve();
  const char *no_address_space() const;
  enum class FirstTouch : uint8_t {
    kBase,
    kSuperpagesIfCheap, ///< every byte will be written (proved); superpages only if cheap
    kSuperpages,
    kWrittenSuperpages, ///< superpages are requested, and every byte will be written
  };
  void *big_allocate(size_t bytes, size_t alignment, bool zero, FirstTouch touch,
                     bool whole = false, smalloc_cell *cell = nullptr,
                     numa::Placement placement = {}, PageKind first = PageKind::kSuperpage);
  void *big_allocate(const BigRequest &request, SiteAccounts::Account account);
  void *process_allocate(smalloc_cell *cell, size_t bytes, size_t alignment, bool zero);
  void *guest_allocate(smalloc_cell *cell, size_t bytes, size_t alignment, bool zero);
  bool grows_out_of_base_pages(Slice slice, const void *p, size_t bytes);
  void *grown_allocate(size_t bytes, smalloc_cell *cell, const void *caller, bool half_filled);
  void *copy_of_big(const void *p, size_t bytes);
  void *small_allocate(size_t bytes, size_t alignment, bool zero, smalloc_cell *cell = nullptr);
  void *class_allocate(size_t bytes, size_t alignment, bool zero, smalloc_cell *cell = nullptr);
  SMALLOC_COLD void *placed_allocate(size_t bytes, size_t alignment, bool zero, smalloc_cell *cell);
  void *any_allocate(size_t bytes, size_t alignment, bool zero, const void *caller);
  void *filling_allocate(size_t bytes, size_t alignment, bool zero, smalloc_cell *cell,
                         const void *caller);
  SMALLOC_COLD bool outgrows_program_malloc(size_t bytes);
  SMALLOC_COLD bool wait_for_start();
  void *resize_big(void *p, size_t bytes);
  void *move_to_other_memory(void *p, size_t bytes, Slice slice, bool keeps_kind,
                             smalloc_cell *cell);
  void publish_promoted(const BigObjects::Handle &h);
  void promote_big(const BigObjects::Handle &handle, uint64_t credit_ns, uint64_t pause_ns);
  void charge_big(void *p, SiteAccounts::Account account);
  SMALLOC_COLD bool may_end(const char *call, const void *p, ObjectNote &note);
  SMALLOC_COLD bool refuse(const char *call, const void *p);
  static bool may_be_row(size_t bytes) {
    return bytes - JoiningHeap::kLeastRowBytes <=
           JoiningHeap::kMostCachedBytes - JoiningHeap::kLeastRowBytes;
  }
  /// True if `bytes` is one of the last four different sizes of rows.
  static bool was_requested(size_t bytes) {
    const auto size = static_cast<uint16_t>(bytes);
    const uint64_t sizes = t_small.sizes;
    return static_cast<uint16_t>(sizes) == size || static_cast<uint16_t>(sizes >> 16) == size ||
           static_cast<uint16_t>(sizes >> 32) == size || static_cast<uint16_t>(sizes >> 48) == size;
  }
  static_assert(JoiningHeap::kMostCachedBytes <= UINT16_MAX);
  /// Counts bytes of joining_allocate(). False: a look is due.
  static bool count_joined(size_t bytes) {
    t_small.joined_bytes += static_cast<uint32_t>(bytes);
    return t_small.joined_bytes < JoiningHeap::kLookBytes;
  }
  void *bitmap_allocate(size_t bytes);
  SMALLOC_COLD void *first_bitmap_allocate(size_t bytes);
  void *resize_in_bitmap_heap(void *p, size_t bytes);
  void publish_joining_heap();
  SMALLOC_COLD void look_at_joining_heap(smalloc_cell *cell, const void *p, size_t bytes);
  SMALLOC_COLD bool may_serve(smalloc_cell *cell, uint64_t word);
  void arm_any();
  void watch_forks();
  void note_fork(bool in_child);
  void wake_helper();
  bool raises_peak(uint64_t bytes);
  void make_room(uint64_t bytes);
  void forward_to_program_malloc();
  bool cache_is_known();
  void arm_direct(smalloc_cell *cell, uint64_t word, uint64_t requested);
  int64_t most_direct_bytes() const {
    return strategy_ == HeapStrategy::kSuperpage ? kDirectBytesOfAll : kDirectBytes;
  }
  uint64_t directly_taken() const;
  uint64_t elapsed_ns() const;
  SMALLOC_COLD uint64_t promised_to_small(uint64_t live_bytes);
  SMALLOC_COLD void promote_small(SmallPages &pages, uint64_t credit_ns, uint64_t counted_ns = 0);
  void promote_early_objects();
  bool locks_come_free();
  void promote_mapped(const void *p, uint64_t misses);

  std::atomic<HeapState> state_{HeapState::kUninitialised};
  std::atomic<bool> options_read_{false};
  std::atomic<bool> outgrown_{false}; ///< heap:auto: the process is large enough for a small heap
  SpinLock options_lock_, limit_lock_;
  Options options_;
  HeapStrategy strategy_ = HeapStrategy::kAuto;
  ThpMode thp_ = ThpMode::kAbsent;
  WalkCost walk_;
  Price price_;
  uint64_t reach_bytes_ = uint64_t{8} << 20;
  const char *machine_name_ = "generic";
  Region region_;
  PageFallback page_fallback_;
  ForkGate fork_gate_;
  std::atomic<pid_t> process_{0}; ///< the process that these heaps belong to
  bool forks_locked_ = false;     ///< before_fork() has taken the locks
  void (*in_fork_child_)() = nullptr;
  /// Pool pages are being copied, between before_fork() and after_fork().
  bool forks_pool_pages_ = false;
  FirstTouchCost first_touch_cost_;
  ResidentPeak resident_peak_;
  BigObjects big_;
  BrokenSuperpages broken_;
  MappedRanges mapped_;
  JoiningHeap joining_heap_;
  std::atomic<size_t> foreign_below_{0};                          ///< 0: not known yet
  std::atomic<bool> cache_looked_at_{false}, cache_known_{false}; ///< see thread_cache.h
  std::atomic<uint64_t> time_credit_from_ns_{0};
  UnitIndex pending_cursor_ = 0;
  std::atomic<bool> warned_{false};
  std::atomic<bool> base_pages_refused_{false}; ///< and no warning was printed
  /// CLOCK_REALTIME when the options were read; only with an agent or validate:on.
  uint64_t began_ns_ = 0;
  bool memory_locked_ = false; ///< mlockall() or its effect was seen
  /// Superpages are available, or pages:base requests the heaps without them.
  bool sites_served_ = false;
};
extern Runtime g_runtime SMALLOC_NEAR;

} // namespace smalloc
#endif
