// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// joining_heap.h serves objects from the program's malloc, which joins freed neighbours, under
// heap:auto:
//   - those of sites whose request size is not constant (SMALLOC_SITE_ANY_SIZE), from the size on
//     that the bitmap heap does not serve (bitmap_heap.h).
//   - large ones of any caller: size classes leave up to a fifth of their pages unused.
// Malloc's heap below the break gets superpages by madvise: the break moves by one step at a time,
// and the new part is advised before it is touched. That happens before the program reaches the
// unit that contains the break: the upper part of that unit is not mapped yet.
//
// Objects of several pages may stay empty. So at most a window is advised that the program has not
// yet been seen to fill. If it leaves a unit empty, the advice ends (follow()). Then the program
// may have requested all objects before it fills the first: the helper thread follows that fill and
// gives superpages ahead of it (look_ahead()). If the program frees all and requests as much again,
// as for one matrix after the other, units that it had filled twice get superpages at once.
#ifndef SMALLOC_SMALL_JOINING_HEAP_H
#define SMALLOC_SMALL_JOINING_HEAP_H

#include "smalloc/base/spin_lock.h"
#include "smalloc/base/units.h"
#include "smalloc/os/os_hooks.h"
#include "smalloc/pages/counters.h"
#include "smalloc/pages/first_touch_cost.h"
#include "smalloc/small/heap_top.h"

#include <atomic>

namespace smalloc {

class JoiningHeap {
public:
  /// A step is 1/16 of the heap within these bounds: malloc keeps up to two steps unused at its
  /// top.
  static constexpr size_t kStepBytes = size_t{4} << 20, kMostStepBytes = size_t{32} << 20;
  static constexpr size_t kStepsOfHeap = 16;
  /// Requested bytes from which the heap gets superpages. In a heap of this size, one superpage at
  /// its end is a quarter of it at most. The page faults that it saves are worth that. Until then
  /// malloc maps requests of 128 KiB and more separately.
  static constexpr size_t kLeastBytes = size_t{8} << 20;

  /// False if the size classes serve a request of a varying size without waste, and faster. An
  /// array that doubles as it grows (a vector, a string, a buffer) requests powers of two, or three
  /// times one. From kLeastPagesBytes to kMostCachedBytes the classes have the distance of pages,
  /// and jemalloc joins free pages.
  static constexpr bool takes(size_t bytes) {
    const size_t lowest = bytes & (size_t{0} - bytes);
    return bytes > kMostExact ? bytes <= kLeastPagesBytes || bytes > kMostCachedBytes
                              : bytes != lowest && bytes != 3 * lowest;
  }
  /// takes(bytes) of a request below kLeastRowBytes, from a table: one test instead of a chain.
  static bool takes_small(size_t bytes);
  static constexpr size_t kMostExact = 8192, kLeastPagesBytes = size_t{16} << 10;
  static constexpr size_t kMostCachedBytes = size_t{32} << 10;
  /// True for a large request of any caller. Size classes would leave up to a fifth of its pages
  /// unused: four share a doubling. On superpages these pages are resident. Up to kMostCachedBytes
  /// the classes have the distance of pages, and the thread's cache is faster than malloc.
  static bool takes_any(size_t bytes) {
    return bytes > kMostCachedBytes && bytes < kSuperpageBytes;
  }
  /// Requests from this size to kMostCachedBytes may be the rows of a matrix. In a size class they
  /// would lie a multiple of 1 KiB apart, in most classes of a page. A walk along a column would
  /// then use few sets of the caches: five times as slow as under glibc, for rows of 8,000 bytes.
  /// 3,584 bytes is the last class whose slots begin in eight places of a page.
  static constexpr size_t kLeastRowBytes = 3585;
  /// Bytes that a thread requests between two looks.
  static constexpr uint32_t kLookBytes = 256u << 10;
  /// An allocation that malloc has served.
  struct Request {
    const void *p; ///< what malloc has returned for `bytes` bytes, or nullptr
    size_t bytes;
    bool written;     ///< the compiler proved that the program writes every byte of the object
    size_t requested; ///< bytes that this thread has requested since its last look
  };
  /// Reads the break and advises the new part of the heap. `may_keep`: the free top may be kept,
  /// since the helper thread runs and calls give_back_idle_top(). False: malloc serves the thread
  /// from another arena, which has no heap below the break.
  SMALLOC_COLD bool look(const OsHooks &os, const Request &request, bool may_keep,
                         const NextMalloc &next);

  /// True if the heap is so large that its free top should be kept (HeapTop).
  bool is_large() const { return large_.load(std::memory_order_relaxed); }
  bool keeps_top() const { return top_.keeps(); }
  /// Gives at least `bytes` of the heap's free top back to the kernel, unless another thread is in
  /// look().
  void give_back_top(uint64_t bytes, const NextMalloc &next);
  /// Gives it back if no request came for HeapTop::kKeptNs. Returns keeps_top().
  bool give_back_idle_top(const OsHooks &os);

  /// Follows the fill of objects that the program has requested all before it fills the first, and
  /// gives superpages ahead of it. Returns how many sixteenths of a unit the program has filled
  /// since the last call. For the helper thread.
  unsigned look_ahead(const OsHooks &os, FirstTouchCost &cost);
  /// Collapses one filled unit below what look() has followed so far. It holds the process' first
  /// objects, from the time in which it was small. False: there is none, or no longer.
  bool collapse_early(const OsHooks &os);
  /// Returns how many superpages of the heap the program was seen to fill, in the whole run, and at
  /// most at one time. A trim ends those above the new end.
  uint64_t filled_superpages() const { return filled_superpages_.get(); }
  uint64_t peak_superpages() const { return peak_superpages_.get(); }
  /// True once for each kGrowthBytes by which the heap has grown, also after it was trimmed.
  bool has_grown() {
    const uintptr_t seen = grown_to_.load(std::memory_order_relaxed), now = highest_;
    if (now >= seen && now - seen < kGrowthBytes)
      return false;
    grown_to_.store(now, std::memory_order_relaxed);
    return now > seen;
  }
  static constexpr size_t kGrowthBytes = size_t{8} << 20;
  /// True if objects of kLeastLateBytes and more wait to be filled, or are being filled.
  bool waits() const {
    const uintptr_t late = late_;
    return late != 0 && (given_end_ != 0 || highest_ >= late + kLeastLateBytes);
  }
  /// Releases the lock that another thread of the parent may have held. What it was changing is a
  /// few addresses: the child gives at worst one superpage too many, or too few.
  /// Gives the kept top back: the child has no helper thread that would. With that thread in the
  /// parent, glibc's locks are free here.
  void after_fork_in_child() {
    lock_.unlock();
    top_.give_back();
  }
  static constexpr size_t kLeastLateBytes = size_t{32} << 20;
  /// Least filled memory that is trusted after a trim.
  static constexpr size_t kLeastTrustedBytes = 4 * kSuperpageBytes;
  /// Most bytes that have superpages in front of the program and are not yet seen filled: this
  /// much, or 2 % of the heap.
  static constexpr size_t kLeastWindowBytes = 2 * kSuperpageBytes;
  size_t window(uintptr_t end) const { return max_of(kLeastWindowBytes, (end - first_) / 50); }

private:
  void set_step(size_t bytes);
  void follow(const OsHooks &os, uintptr_t end, uintptr_t top);
  void examine(const OsHooks &os);
  void withdraw(const OsHooks &os);
  void give_late(const OsHooks &os, FirstTouchCost &cost, uintptr_t last);
  void note_trim(uintptr_t end);
  void follow_from(uintptr_t unit);
  void note_filled(uintptr_t unit, bool superpage);
  uintptr_t move_break(uintptr_t end, const void *p, size_t bytes, const NextMalloc &next);
  /// glibc joins free neighbours before it serves a request of more than 1 KiB.
  static constexpr size_t kMostWithoutJoining = 1024, kJoinsBytes = 4096;
  /// While holds_zeros_ is set, one unit of this many stays on base pages, as a probe.
  static constexpr unsigned kProbeEvery = 8;
  /// Consecutive looks that find the program higher up in the last unit. A unit has at most eight.
  static constexpr unsigned kMovesAt = 3;
  SpinLock lock_;
  HeapTop top_;
  std::atomic<bool> large_{false};
  unsigned rises_ = 0;
  size_t requested_ = 0; ///< by all threads, until the steps are set
  uintptr_t seen_ = 0;   ///< what malloc had returned at the last look
  size_t step_ = 0;      ///< the step that was set; 0: glibc's default
  uintptr_t first_ = 0,
            advised_ = 0; ///< end of the heap at the first look; end of the advised part
  std::atomic<uintptr_t> grown_to_{0}; ///< highest_ when has_grown() was true, or the heap trimmed
  std::atomic<uintptr_t> highest_{0};  ///< end of the highest object so far
  uintptr_t checkable_ = 0;            ///< highest_ at the look before
  uintptr_t checked_ = 0;              ///< end of the examined units
  uintptr_t unproved_to_ = 0;  ///< end of the highest object seen that is not proved to be written
  uintptr_t advised_from_ = 0; ///< start of the advised part behind the last gap
  bool empty_ = false;         ///< the program has left an advised unit empty: no more advice
  bool sparse_ = false;        ///< since then, it has left a unit on base pages empty, too
  bool holds_zeros_ = false;   ///< superpages that look empty are filled with zeros
  /// Objects that were requested long before they are filled: the unit that the program fills now
  /// (0: none), its filled pages at the last look, and the units given ahead of the fill.
  std::atomic<uintptr_t> late_{0};
  size_t late_pages_ = 0;
  uintptr_t given_from_ = 0;
  std::atomic<uintptr_t> given_end_{0};
  /// The last run of units that the program was seen to fill, and a part of the heap that it had
  /// filled before malloc trimmed it.
  uintptr_t filled_from_ = 0, filled_end_ = 0, trusted_from_ = 0, trusted_end_ = 0;
  Counter filled_superpages_, superpages_now_, peak_superpages_;
  unsigned late_looks_ = 0;                 ///< of look_ahead() since the last trim
  static constexpr unsigned kMostEarly = 4; ///< most units that collapse_early() examines
  unsigned early_ = 0;                      ///< units that it has examined
  unsigned dense_trims_ = 0; ///< consecutive trims of memory that the program had filled
  /// Trims after which what was filled is trusted: the program may use less of the next rows.
  static constexpr unsigned kTellingTrims = 2;
  /// Looks of look_ahead() that would have found the units filled.
  static constexpr unsigned kTellingLooks = 8;
};

/// JoiningHeap::takes() of each size below kLeastRowBytes.
struct SmallSizesTaken {
  bool flags[JoiningHeap::kLeastRowBytes] = {};
  constexpr SmallSizesTaken() {
    for (size_t bytes = 0; bytes < JoiningHeap::kLeastRowBytes; bytes++)
      flags[bytes] = JoiningHeap::takes(bytes);
  }
};
inline constexpr SmallSizesTaken kSmallSizesTaken;
inline bool JoiningHeap::takes_small(size_t bytes) { return kSmallSizesTaken.flags[bytes]; }

} // namespace smalloc
#endif
