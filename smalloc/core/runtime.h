// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime.h decides when the heaps start (at the first decision for a superpage, never earlier),
// whether they may (who owns free, what the administrator and the user said), and which heap serves
// a request that may be ours. Everything that is exported sits in override/ and ends here.
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
#include "smalloc/process/run_costs.h"
#include "smalloc/sites/site_accounts.h"
#include "smalloc/small/joining_heap.h"
#include "smalloc/small/small_heap.h"

namespace smalloc {

/// "Is it ours?" Before the start, and for good when the address space is refused, the range has
/// length 0. start is then 2^63: a reader that sees the new length with the old start still says no
/// to every address of a program.
struct Range {
  std::atomic<uintptr_t> start{uintptr_t{1} << 63};
  std::atomic<size_t> bytes{0};
  std::atomic<size_t> main_heap_bytes{
      0}; ///< the front part: the private jemalloc's, without the class heap
  std::atomic<bool> has_holes{false}; ///< what went back to a program with little address space
  size_t offset(const void *p) const { return reinterpret_cast<uintptr_t>(p) - folded(start); }
  /// Ours, or in what went back.
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

/// The process' other allocator: what our free, realloc and delete pass foreign pointers to.
struct NextAllocator {
  void (*free)(void *);
  void *(*realloc)(void *, size_t);
  void *(*malloc)(size_t);
  size_t (*malloc_usable_size)(void *);
};
extern NextAllocator g_next; // filled in by override/

/// Requested bytes from which undecided small objects may be served under heap:migrate.
inline constexpr uint64_t kSiteWarmupBytes = uint64_t{4} << 20;

/// heap:auto: the smallest object whose fill the helper thread watches, and the least memory in big
/// objects for which it runs.
inline constexpr size_t kLeastAheadBytes = size_t{8} << 20;
inline constexpr uint64_t kLeastHelpedBytes = uint64_t{32} << 20;

/// What a thread may take from direct sites until it goes the ordinary way once.
inline constexpr int64_t kDirectBytes = int64_t{64} << 10;
/// The same under heap:superpage, where it does not matter what a site asks for: only promotions that are due wait for it.
inline constexpr int64_t kDirectBytesOfAll = int64_t{1} << 20;
/// While something waits for promotion, malloc looks for what is due once in kCallsPerLook calls of a thread.
inline constexpr unsigned kCallsPerLook = 1024;
/// What a request counts for at least that the thread's cache did not serve: it stands for those that it did.
inline constexpr size_t kLeastDirectBytes = size_t{4} << 10;

class Runtime {
public:
  const Options &options(); ///< read from the environment at the first call
  /// Heaps are running. Starts them when nothing forbids it. False: the program's malloc serves.
  bool ready() {
    return SMALLOC_LIKELY(state_.load(std::memory_order_acquire) == HeapState::kReady) || start();
  }
  bool running() const { return state_.load(std::memory_order_acquire) == HeapState::kReady; }
  /// The program has limited its address space to so many bytes (RLIMIT_AS), which our reservation counts in.
  void limit_address_space(uint64_t bytes);
  /// The program's mlockall() has succeeded. existing: with MCL_CURRENT.
  void all_locked(bool existing, FutureLock future);
  /// For good, with one warning line (nullptr: silently). Objects handed out before stay valid.
  void switch_off(const char *why);
  bool is_off() const { return state_.load(std::memory_order_relaxed) == HeapState::kOff; }
  void set_strategy(HeapStrategy strategy) { strategy_ = strategy; }
  HeapStrategy strategy() const { return strategy_; }
  /// Superpages whose first touch was timed, as FirstTouchCost has it.
  uint64_t touched_units() const { return first_touch_cost_.touched_units(); }
  uint64_t touched_ns() const { return first_touch_cost_.touched_ns(); }

  /// May a request of a site whose cell says SMALLOC_CELL_DIRECT go to jemalloc without another test? The budget of the
  /// thread stands for all of them: a thread without one is not bound to an arena yet, a request above it is large, and
  /// when it is used up the ordinary way looks for promotions that are due.
  static bool may_be_direct(size_t bytes) {
    t_small.direct_bytes =
        static_cast<int64_t>(static_cast<uint64_t>(t_small.direct_bytes) - bytes);
    return t_small.direct_bytes >= 0;
  }
  /// Half of all addresses and more make may_be_direct() add to what is left, and say so to anything that follows.
  static void disarm_if_absurd(size_t bytes) {
    if (SMALLOC_UNLIKELY(bytes > SIZE_MAX / 2))
      t_small.direct_bytes = 0;
  }
  /// True if the program's malloc serves the site's small objects: heap:guest, decided by the compiler.
  static bool stays_outside(const smalloc_cell *cell, size_t bytes) {
    constexpr uint64_t kSmall = uint64_t{SMALLOC_SITE_SMALL} << 8 | SMALLOC_DECISION_RUNTIME;
    constexpr uint64_t kOthers =
        uint64_t{SMALLOC_SITE_UNDECIDED | SMALLOC_CELL_SERVED} << 8 | SMALLOC_CELL_JOINS |
        uint64_t{0x1f} << 24 /* decided_by: SMALLOC_BY_COMPILER is 0 */ | 0xff;
    return bytes < kSuperpageBytes &&
           (__atomic_load_n(&cell->word, __ATOMIC_RELAXED) & (kSmall | kOthers)) == kSmall;
  }
  /// True if the site's request goes to the program's malloc, which joins freed neighbours.
  static bool joins(const smalloc_cell *cell, size_t bytes) {
    return bytes < kSuperpageBytes && JoiningHeap::takes(bytes) && !t_small.other_arena &&
           (__atomic_load_n(&cell->word, __ATOMIC_RELAXED) & SMALLOC_CELL_JOINS);
  }
  /// REQUIRES: joins(cell, bytes). nullptr: it has no memory. Requests are counted for the site that
  /// asks when a thread has requested JoiningHeap::kLookBytes.
  void *joining_allocate(smalloc_cell *cell, size_t bytes) {
    void *p = g_next.malloc(bytes);
    t_small.joined_bytes += static_cast<uint32_t>(bytes);
    if (SMALLOC_UNLIKELY(t_small.joined_bytes >= JoiningHeap::kLookBytes))
      look_at_joining_heap(cell, p, bytes);
    return p;
  }
  /// Try to serve a request of a site. nullptr: the program's malloc.
  void *site_allocate(smalloc_cell *cell, size_t bytes, size_t alignment, bool zero);
  /// Would a request of this site and size be ours? Changes nothing.
  bool site_accepts(smalloc_cell *cell, size_t bytes);

  /// A site of the program has mapped memory itself.
  void site_mapped(smalloc_cell *cell, void *p, size_t bytes);

  /// True if the next allocator serves a request of this size, now and without asking further. While
  /// something waits for promotion, one call in so many is.
  bool surely_foreign(size_t bytes) const {
    return bytes < folded(foreign_below_) && static_cast<int>(--t_small.calls_until_look) >= 0;
  }
  /// heap:superpage with running heaps: every request is ours, so its rules are, too.
  bool serves_all() const { return running() && sites_served_ && serves_process(); }
  /// libsmalloc is the process' malloc: heap:auto and heap:superpage.
  bool serves_process() const {
    return strategy_ == HeapStrategy::kAuto || strategy_ == HeapStrategy::kSuperpage;
  }
  /// For the helper thread: see BigObjects::look_ahead().
  unsigned look_ahead(bool all);
  /// Some big object waits to be filled.
  bool watches_fills() const { return big_.watched() != 0; }
  /// heap:superpage: may a request of no site, of usual alignment, go to jemalloc without another test? See
  /// may_be_direct. What the thread's cache serves does not come here.
  static bool any_is_direct(size_t bytes) {
    const size_t left = t_small.any_bytes, spent = max_of(bytes, kLeastDirectBytes);
    if (SMALLOC_UNLIKELY(spent >= left))
      return false;
    t_small.any_bytes = left - spent;
    return true;
  }
  /// For malloc's family and operator new. `caller` is the return address of the program's call.
  /// nullptr: the next allocator has to serve.
  void *sized_allocate(size_t bytes, size_t alignment, bool zero, const void *caller);

  /// For the C API: a page kind of smalloc.h.
  void *kind_allocate(size_t bytes, size_t alignment, bool zero, int kind);

  /// p is in our range.
  void release(void *p);
  size_t usable_bytes(const void *p);
  /// realloc of a pointer of ours, bytes > 0. nullptr with errno ENOMEM: the object is as it was.
  /// keeps_kind: what it becomes is on such pages as it is (the C interface); otherwise base pages until promotion pays, and below
  /// kBackToMallocBytes the program's malloc. cell: of the site that resizes, if there is one; what becomes big is that site's from now on.
  void *resize(void *p, size_t bytes, bool keeps_kind = false, smalloc_cell *cell = nullptr);

  /// The program is about to write so many of the range's bytes (__smalloc_v1_filling).
  void filling(const void *p, uint64_t range, uint64_t written);
  void touching(const void *p, uint64_t saved_misses);
  /// Promotion at allocator calls, for programs without promotion points: 3 % of the time that
  /// passes, at most.
  void promote_by_time();

  int freeze_class_heap();
  long migrate_class_heap();
  size_t trim();

  Region &region() { return region_; }
  /// Of the program's static data and text. (What a stack was only advised for may never be touched.)
  uint64_t image_superpages() {
    return counters().static_superpages.get() + counters().text_superpages.get();
  }
  BigObjects &big() { return big_; }
  BrokenSuperpages &broken() { return broken_; }
  /// The program has given pages back to the system by madvise().
  void given_back(const void *start, size_t bytes);
  const PageFallback &ladder() const { return page_fallback_; }
  Counters &counters() { return g_live.counters(); }
  ThpMode thp() const { return thp_; }
  uint64_t reach_bytes() const { return reach_bytes_; }
  const char *machine_name() const { return machine_name_; }
  /// Of this run so far: the process and the children that it has waited for, as a history compares runs.
  RunCosts run_costs() const;
  /// The process ends: the agent's claim goes, the run is reported.
  void agent_end();
  void warn(Text text); ///< "smalloc: warning: " + text + newline

  void install_fork_handlers(); ///< once, the earlier the better; any thread
  void before_fork();
  void after_fork();
  void after_fork_in_child();
  /// Sets what is called in the child of a fork, once the counters count the child.
  void on_fork_in_child(void (*hook)()) { in_fork_child_ = hook; }
  void before_fork_locks();

private:
  bool start();
  bool start_heaps();
  void unlock_after_fork(bool in_child);
  bool start_region();
  void load_directives();
  void start_agent();
  void show_agent();
  void tell_sites();
  void agent_has_forked();
  void agent_after_fork_in_child();
  SMALLOC_COLD void agent_charged(SiteAccounts::Account account);
  void migrate(Directives::Entry *entry);
  SMALLOC_COLD void warn_of_fallback();
  size_t bytes_to_reserve();
  const char *no_address_space() const;
  enum class FirstTouch : uint8_t {
    kBase,
    kSuperpagesIfCheap, ///< every byte will be written (proved), and nobody insists
    kSuperpages,
    kWrittenSuperpages, ///< somebody insists, and every byte will be written
  };
  void *big_allocate(size_t bytes, size_t alignment, bool zero, FirstTouch touch,
                     bool whole = false, smalloc_cell *cell = nullptr,
                     numa::Placement placement = {}, PageKind first = PageKind::kSuperpage);
  void *big_allocate(const BigRequest &request, SiteAccounts::Account account);
  void *process_allocate(smalloc_cell *cell, size_t bytes, size_t alignment, bool zero);
  bool grows_out_of_base_pages(Slice slice, const void *p, size_t bytes);
  void *grown_allocate(size_t bytes, smalloc_cell *cell);
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
  void promote_big(const BigObjects::Handle &handle, uint64_t credit_ns, uint64_t pause_ns);
  void charge_big(void *p, SiteAccounts::Account account);
  SMALLOC_COLD bool may_end(const char *call, const void *p, ObjectNote &note);
  SMALLOC_COLD bool refuse(const char *call, const void *p);
  SMALLOC_COLD void look_at_joining_heap(smalloc_cell *cell, const void *p, size_t bytes);
  SMALLOC_COLD bool may_serve(smalloc_cell *cell, uint64_t word);
  void arm_any();
  void watch_forks();
  void note_fork(bool in_child);
  void wake_helper();
  void forward_to_program_malloc();
  bool cache_is_known();
  void set_malloc_entry(bool from_cache);
  void arm_direct(smalloc_cell *cell, uint64_t word, uint64_t requested);
  int64_t most_direct_bytes() const {
    return strategy_ == HeapStrategy::kSuperpage ? kDirectBytesOfAll : kDirectBytes;
  }
  uint64_t directly_taken() const;
  uint64_t elapsed_ns() const;
  SMALLOC_COLD uint64_t promised_to_small(uint64_t live_bytes);
  SMALLOC_COLD void promote_small(SmallPages &pages, uint64_t credit_ns, uint64_t counted_ns = 0);
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
  std::atomic<pid_t> process_{0}; ///< whose heaps these are
  bool forks_locked_ = false;     ///< before_fork() has taken the locks
  void (*in_fork_child_)() = nullptr;
  bool forks_pool_pages_ = false; ///< between before_fork and after_fork
  FirstTouchCost first_touch_cost_;
  BigObjects big_;
  BrokenSuperpages broken_;
  MappedRanges mapped_;
  JoiningHeap joining_heap_;
  std::atomic<size_t> foreign_below_{0};                          ///< 0: not known yet
  std::atomic<bool> cache_looked_at_{false}, cache_known_{false}; ///< see thread_cache.h
  std::atomic<uint64_t> time_credit_from_ns_{0};
  UnitIndex pending_cursor_ = 0;
  std::atomic<bool> warned_{false};
  uint64_t began_ns_ =
      0; ///< CLOCK_REALTIME when the options were read; only with an agent or validate:on
  bool memory_locked_ = false; ///< mlockall() was seen, or its effect
  bool sites_served_ = false;  ///< superpages may be had, or pages:base asks for ours without them
};
extern Runtime g_runtime SMALLOC_NEAR;

} // namespace smalloc
#endif
