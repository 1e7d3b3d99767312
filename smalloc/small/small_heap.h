// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// small_heap.h decides how objects below one superpage are allocated: by the private jemalloc, in
// arenas of ours whose extents come from SmallPages. Threads are bound to an arena at their first
// allocation; its automatic cache then serves the main heap at jemalloc's full speed. The class
// heap (undecided sites under heap:migrate, and SMALLOC_BASE) is one more arena with caches of its
// own, since a pointer that is freed into a thread's automatic cache would come back as somebody
// else's superpage memory.
#ifndef SMALLOC_SMALL_SMALL_HEAP_H
#define SMALLOC_SMALL_SMALL_HEAP_H

#include "smalloc/base/text.h"
#include "smalloc/jemalloc/private_jemalloc.h"
#include "smalloc/small/small_packing.h"
#include "smalloc/small/small_pages.h"

namespace smalloc {

enum class HeapState : uint8_t { kUninitialised, kStarting, kReady, kOff };

/// Thread-local part. Initial-exec, a few bytes: dlopen of a library that needs more static TLS
/// than is left fails.
struct SmallThread {
  bool bound;
  bool has_class_cache;
  bool class_cache_refused;
  bool direct_armed;
  uint8_t looks; ///< every so many events: is there anything to give back?
  unsigned class_cache;
  unsigned class_generation;
  unsigned placed_bytes; ///< got at hinted sites, and not counted yet
  int64_t
      direct_bytes; ///< what may still be taken without asking (Runtime::arm_direct); below 0: nothing
  unsigned calls_until_look; ///< of malloc's family while something waits for promotion; as an
                             ///< int, below 0: this one looks
  bool forks_unaware;        ///< this thread forks, and the small heap was not ready when it began
  bool starting;             ///< this thread is inside Runtime::start() or SmallHeap::start()
  uint32_t joined_bytes; ///< requested from the program's malloc since the last look (JoiningHeap)
  bool
      other_arena; ///< the program's malloc serves the thread from an arena without superpages (JoiningHeap)
  uint32_t early_bytes; ///< requested before the heaps start (Runtime::outgrows_program_malloc)
  size_t
      any_bytes; ///< as direct_bytes, for requests of no site (Runtime::any_is_direct); 0: nothing
};

extern __thread SmallThread t_small
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

class SmallHeap {
public:
  /// Remembers what start() needs. Allocates nothing.
  struct Config {
    bool superpages_at_first_touch = false;
    bool serves_process = false;           ///< heap:auto: see SmallPages::Config
    FirstTouchCost *first_touch = nullptr; ///< as SmallPages has it
    unsigned idle_percent = 10;            ///< demote:
    uint64_t cache_bytes = 0;              ///< cache:
    bool (*make_room)(uint64_t worth_per_unit, unsigned wanted) = nullptr; ///< see SmallPages
    bool drop_file_pages = true; ///< after the start; false: code has no file behind it (text:on)
  };
  void configure(Region &region, const Config &config);
  bool is_starting() const {
    return state_.load(std::memory_order_acquire) == HeapState::kStarting;
  }
  /// fork() runs the handlers that were registered when it began. If jemalloc registers its handlers during a
  /// fork, this fork does not take jemalloc's locks, and the child may inherit one that another thread holds. So
  /// start() makes the heap ready only when no such fork is going on. The forking thread calls fork_begins() in
  /// its prepare handler, and fork_ended() in the parent's and the child's handler.
  void fork_begins();
  void fork_ended(bool in_child);
  /// In a forked child whose parent's other thread was starting it.
  void forget_start() {
    HeapState seen = HeapState::kStarting;
    state_.compare_exchange_strong(seen, HeapState::kOff);
  }
  bool ready() const { return state_.load(std::memory_order_acquire) == HeapState::kReady; }
  /// Starts jemalloc and the first arena if that has not happened. False: not available (now, or at
  /// all).
  bool start();

  /// nullptr: not available; the caller falls back. errno is kept.
  void *allocate(size_t bytes);
  void *allocate_zeroed(size_t bytes);
  void *allocate_aligned(size_t bytes, size_t alignment);
  void *class_allocate(size_t bytes, size_t alignment, bool zero);
  void release(void *p) { jepriv_free(p); }
  void class_release(void *p);
  /// Like realloc for bytes > 0; never crosses into another heap.
  void *resize(void *p, size_t bytes) { return jepriv_realloc(p, bytes); }
  void *class_resize(void *p, size_t bytes);
  size_t usable_bytes(const void *p) const { return jepriv_malloc_usable_size(p); }

  /// New objects go where memory is full: no thread may take any without asking.
  bool packs() const { return packing_.any(); }
  uint64_t packed_objects() const { return packing_.packed_objects(); }
  /// True if grow_further() is to be called, by a thread that is not inside jemalloc.
  bool growth_due() const { return growth_due_.load(std::memory_order_relaxed); }
  SMALLOC_COLD void grow_further();

  /// Threads that have ever got an object from here.
  unsigned threads() const { return threads_.load(std::memory_order_relaxed); }

  SmallPages &main_pages() { return main_; }
  SmallPages &class_pages() { return class_; }
  /// The class heap takes no more objects from now on. Idempotent.
  void freeze_class();
  bool class_frozen() const { return class_frozen_.load(std::memory_order_relaxed); }
  /// jemalloc's tsd has just allocated or freed another 64 KiB: gives back what has been unused for
  /// long enough, or is too much. Called without locks, from within an allocation or a free.
  void tick(jemalloc_thread *tsd, bool freed) {
    if (SMALLOC_UNLIKELY(++t_small.looks % kEventsPerLook == 0))
      look(tsd, freed, t_small.looks);
  }
  static constexpr uint64_t kTickBytes = uint64_t{64} << 10; ///< as jemalloc's own
  /// Purges unused pages of all arenas. Returns nothing: jemalloc does not tell.
  void trim();
  /// Bytes in live objects and their number ever allocated, all arenas; 0 before the start.
  void statistics(uint64_t &live_bytes, uint64_t &objects);

  void lock_promotion() { main_.lock_promotion(), class_.lock_promotion(); }
  void unlock_promotion() { class_.unlock_promotion(), main_.unlock_promotion(); }
  /// jemalloc's handlers of fork forget all caches in the child but the one that it gave the thread itself, whose lists still lead to
  /// the others: the calling thread's class cache is emptied, and made anew when it is used. Before any lock is taken.
  void before_fork_locks();
  void lock_all();
  void unlock_all();

  /// An arena of jemalloc, which must have been started, on these hooks.
  static bool make_arena(unsigned &arena, je_extent_hooks *hooks);

private:
  static void set_growth(unsigned arena, size_t bytes);
  static constexpr unsigned kMostArenas = 32;
  static constexpr size_t kLongGrowthBytes = size_t{16} << 20;
  /// Live bytes of an arena from which it grows by kLongGrowthBytes at a time.
  static constexpr uint64_t kLongGrowthFrom = uint64_t{64} << 20;
  static constexpr unsigned kEventsPerLook = 4; ///< reading the clock costs about 30 ns
  void look(jemalloc_thread *tsd, bool freed, unsigned events);
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

/// The process has one: jemalloc's hooks carry no pointer of ours.
extern SmallHeap g_small;

} // namespace smalloc
#endif
