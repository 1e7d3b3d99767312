// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// small_heap.h allocates objects below one superpage (2 MiB) from the private jemalloc. Its arenas
// take their extents from SmallPages. A thread is bound to one arena at its first allocation. From
// then on the thread's automatic jemalloc cache serves the main heap at jemalloc's full speed. The
// class heap serves undecided sites under heap:migrate, and SMALLOC_BASE. It is one more arena,
// with caches of its own: a pointer freed into a thread's automatic cache would be handed out again
// as superpage memory.
#ifndef SMALLOC_SMALL_SMALL_HEAP_H
#define SMALLOC_SMALL_SMALL_HEAP_H

#include "smalloc/base/text.h"
#include "smalloc/jemalloc/private_jemalloc.h"
#include "smalloc/small/small_packing.h"
#include "smalloc/small/small_pages.h"

namespace smalloc {

enum class HeapState : uint8_t { kUninitialised, kStarting, kReady, kOff };

/// State of one thread. Its TLS model is initial-exec. It is kept small: dlopen of a library that
/// needs more static TLS than is left fails.
struct SmallThread {
  bool bound;
  bool has_class_cache;
  bool class_cache_refused;
  bool direct_armed;
  uint8_t looks; ///< events of this thread, modulo 256; see SmallHeap::tick()
  unsigned class_cache;
  unsigned class_generation;
  unsigned placed_bytes; ///< bytes allocated at sites with a NUMA hint and not yet counted
  /// Bytes that direct sites may still take without a test (Runtime::arm_direct); below 0: none.
  int64_t direct_bytes;
  /// Allocator calls until the next look at waiting promotions; below 0 as an int: this call looks.
  unsigned calls_until_look;
  /// This thread is in fork(), and the small heap was not ready when fork() began.
  bool forks_unaware;
  bool starting;         ///< this thread is inside Runtime::start() or SmallHeap::start()
  uint32_t joined_bytes; ///< requested from the program's malloc since the last look (JoiningHeap)
  /// The program's malloc serves this thread from an arena without superpages (JoiningHeap).
  bool other_arena;
  bool no_bitmap; ///< the bitmap heap does not serve this thread
  /// Sizes from JoiningHeap::kLeastRowBytes on that the thread has requested lately; see
  /// Runtime::repeats().
  uint64_t sizes; ///< four, of 16 bits each, the last one lowest
  /// Bytes that the thread may still request before it looks again at the process' size, while that
  /// is small (Runtime::stays_small); 0: it has not looked yet.
  uint32_t early_left;
  /// Like direct_bytes, for requests without a site (Runtime::any_is_direct); 0: none.
  size_t any_bytes;
};

extern __thread SmallThread t_small
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

class SmallHeap {
public:
  struct Config {
    bool superpages_at_first_touch = false;
    bool serves_process = false;           ///< heap:auto; see SmallPages::Config
    FirstTouchCost *first_touch = nullptr; ///< see SmallPages::Config
    unsigned idle_percent = 10;            ///< the setting demote:
    uint64_t cache_bytes = 0;              ///< the setting cache:
    /// See SmallPages::Config.
    bool (*make_room)(uint64_t worth_per_unit, unsigned wanted) = nullptr;
    void (*note_growth)(uint64_t bytes) = nullptr;
    /// True if an emptied heap may keep its unused pages for a second: the helper thread will call
    /// give_back_emptied(). nullptr: false.
    bool (*may_keep)() = nullptr;
    /// Drop this library's file pages after the start; false: its code is no file mapping
    /// (program:text).
    bool drop_file_pages = true;
  };
  /// Stores what start() needs. Allocates nothing.
  void configure(Region &region, const Config &config);
  bool is_starting() const {
    return state_.load(std::memory_order_acquire) == HeapState::kStarting;
  }
  /// fork() runs the handlers that were registered when it began. If jemalloc registers its
  /// handlers during a fork, this fork does not take jemalloc's locks. The child may then inherit a
  /// lock that another thread holds. So start() makes the heap ready only when no such fork is
  /// running. The forking thread calls fork_begins() in its prepare handler, and fork_ended() in
  /// the parent's and the child's handler.
  void fork_begins();
  void fork_ended(bool in_child);
  /// Turns the heap off in a forked child if another thread of the parent was in start().
  void forget_start() {
    HeapState seen = HeapState::kStarting;
    state_.compare_exchange_strong(seen, HeapState::kOff);
  }
  bool ready() const { return state_.load(std::memory_order_acquire) == HeapState::kReady; }
  /// Starts jemalloc and the first arena if they are not started. False: another thread is
  /// starting the heap or forking, or the heap could not be started.
  bool start();

  /// The allocation functions return nullptr if the heap is not available; the caller then falls
  /// back. They keep errno.
  void *allocate(size_t bytes);
  void *allocate_zeroed(size_t bytes);
  void *allocate_aligned(size_t bytes, size_t alignment);
  void *class_allocate(size_t bytes, size_t alignment, bool zero);
  void release(void *p) { jepriv_free(p); }
  void class_release(void *p);
  /// Like realloc for `bytes` > 0. The object stays in its heap.
  void *resize(void *p, size_t bytes) { return jepriv_realloc(p, bytes); }
  void *class_resize(void *p, size_t bytes);
  size_t usable_bytes(const void *p) const { return jepriv_malloc_usable_size(p); }

  /// True while new objects fill partly used slabs (SmallPacking). No thread may then allocate
  /// without a test.
  bool packs() const { return packing_.any(); }
  uint64_t packed_objects() const { return packing_.packed_objects(); }
  /// True if grow_further() must be called, by a thread that is not inside jemalloc.
  bool growth_due() const { return growth_due_.load(std::memory_order_relaxed); }
  SMALLOC_COLD void grow_further();

  /// Returns the number of threads that have ever allocated from this heap.
  unsigned threads() const { return threads_.load(std::memory_order_relaxed); }

  SmallPages &main_pages() { return main_; }
  SmallPages &class_pages() { return class_; }
  /// Stops allocation in the class heap for good. Idempotent.
  void freeze_class();
  bool class_frozen() const { return class_frozen_.load(std::memory_order_relaxed); }
  /// Handles an event: jemalloc's thread state has reported another MiB allocated or freed. Purges
  /// memory that is unused for long enough or exceeds the limit. Called without locks, from inside
  /// an allocation or a free.
  void tick(jemalloc_thread *tsd, bool freed) { look(tsd, freed, ++t_small.looks); }
  /// Purges the unused pages of all arenas. jemalloc does not report how many.
  void purge();
  /// Purges pages that an emptied heap has kept for a second. Returns keeps_unused().
  bool give_back_emptied();
  /// True if unused pages of an emptied heap are kept. Other memory could raise the peak of the
  /// process' memory beside them.
  bool keeps_unused() const { return kept_.load(std::memory_order_relaxed); }
  /// Calls purge() after it has emptied the calling thread's caches, and tries the pages again that
  /// the kernel refused before.
  void trim();
  /// Stores the bytes in live objects and the number of objects ever allocated, over all arenas; 0
  /// before the start.
  void statistics(uint64_t &live_bytes, uint64_t &objects);

  void lock_promotion() { main_.lock_promotion(), class_.lock_promotion(); }
  void unlock_promotion() { class_.unlock_promotion(), main_.unlock_promotion(); }
  /// Flushes the calling thread's class cache. Call it before any lock is taken. In the child,
  /// jemalloc's fork handlers forget all caches except the thread's automatic one, but its lists
  /// still link to the others. The next use of the class cache creates it anew.
  void before_fork_locks();
  void lock_all();
  void unlock_all();

  /// Creates an arena with these extent hooks. Precondition: jemalloc has been started.
  static bool make_arena(unsigned &arena, je_extent_hooks *hooks);

private:
  static void set_growth(unsigned arena, size_t bytes);
  static constexpr unsigned kMostArenas = 32;
  static constexpr size_t kLongGrowthBytes = size_t{16} << 20;
  /// Live bytes of an arena from which it grows by kLongGrowthBytes at a time.
  static constexpr uint64_t kLongGrowthFrom = uint64_t{64} << 20;
  void look(jemalloc_thread *tsd, bool freed, unsigned events);
  bool keeps_emptied(uint64_t now, size_t active, size_t dirty);
  /// Makes jemalloc call tick(). To be called once, before jemalloc has threads.
  void intercept_events();
  void wait_for_forks() const;
  bool bind_thread();
  bool create_arena(unsigned &arena, je_extent_hooks *hooks);
  template <class Visit> void for_each_arena(Visit visit);
  SMALLOC_COLD void *allocate_packed(size_t bytes, bool zero);
  void count_classes(uint64_t now_ns);
  unsigned take_census(ClassCensus *classes);
  bool class_flags(SmallThread &thread, int &flags, bool for_release);

  Region *region_ = nullptr;
  Config config_;
  std::atomic<uint64_t> next_tick_ns_{0};
  /// When the heap emptied last; the pages that were used then, and those that were not.
  std::atomic<uint64_t> emptied_ns_{0};
  std::atomic<size_t> left_pages_{0}, unused_pages_{0};
  std::atomic<bool> kept_{false};
  SmallPacking packing_;
  SmallPages main_, class_;
  std::atomic<unsigned> forks_unaware_{0};
  std::atomic<HeapState> state_{HeapState::kUninitialised};
  std::atomic<HeapState> arena_state_[kMostArenas] = {};
  std::atomic<HeapState> class_state_{HeapState::kUninitialised};
  std::atomic<bool> class_frozen_{false}, file_pages_dropped_{false}, grows_further_{false},
      growth_due_{false};
  std::atomic<unsigned> class_generation_{0};
  unsigned arenas_[kMostArenas] = {};
  unsigned class_arena_ = 0;
  unsigned arena_count_ = 1;
  std::atomic<unsigned> threads_{0}, arenas_in_use_{0};
};

/// The only instance: jemalloc's extent hooks carry no pointer to one.
extern SmallHeap g_small;

} // namespace smalloc
#endif
