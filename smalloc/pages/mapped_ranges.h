// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mapped_ranges.h gives superpages to memory that the program maps itself (mmap, numa_alloc) at a
// site that deserves them. The memory stays the program's mapping, and libsmalloc does not see when
// the program unmaps, protects or moves parts of it. So libsmalloc only advises and collapses in
// place. Both change no content, and the kernel refuses them if they no longer fit.
//  - If the compiler has proved that all of it is written: advises its whole superpages when it is
//    mapped, as long as their first touch is not too expensive. These superpages count against the
//    budget of the heaps for good, because their end is not seen.
//  - Otherwise it remembers the range and collapses its dense units at promotion points, as far as
//    the credit pays. The rules are those of big objects (promoter.cpp) without the finer ones. It
//    forgets a range that stays sparse, or is gone, after some looks. A new range replaces the
//    oldest one.
// A thread that finds the table locked returns, and the estimate misses one call. Only `born()`
// waits for the lock, once, to enter a range.
#ifndef SMALLOC_PAGES_MAPPED_RANGES_H
#define SMALLOC_PAGES_MAPPED_RANGES_H

#include "smalloc/base/spin_lock.h"
#include "smalloc/os/os_hooks.h"
#include "smalloc/pages/counters.h"
#include "smalloc/pages/first_touch_cost.h"
#include "smalloc/pages/ski_rental.h"

namespace smalloc {

class Region;

class MappedRanges {
public:
  struct Config {
    const OsHooks *os = nullptr;
    /// Region whose budget pays for the superpages; nullptr: units_left limits them.
    Region *budget = nullptr;
    uint64_t units_left = UINT64_MAX >> 1;
    unsigned *pending = nullptr; ///< __smalloc_v1_pending: plus one for each range that waits
    /// Set to 0 when a range begins to wait; may be nullptr.
    std::atomic<size_t> *passes_below = nullptr;
  };
  void init(const Config &config, Counters &counters) {
    config_ = config;
    left_.store(config.units_left, std::memory_order_relaxed);
    counters_ = &counters;
  }
  /// Handles [start, start + bytes) that the program has just mapped. `price`: cost of superpages
  /// at first touch; nullptr: cost does not matter. `promotable`: remember the part that gets no
  /// advice.
  void born(char *start, size_t bytes, bool all_written, FirstTouchCost *price = nullptr,
            bool promotable = true);
  /// Worth of a promotion point to an object of `bytes` bytes, in ns.
  struct Worth {
    uint64_t (*of)(size_t bytes, void *data);
    void *data; ///< passed to `of`
  };
  /// Promotes units of the range that holds `p`, at a promotion point. Takes `least_pause_ns` or as
  /// long as the point is worth. `eager`: ignores the credit.
  void touched(const void *p, const Worth &worth, Price &price, uint64_t least_pause_ns,
               bool eager);
  bool any() const { return waiting_.load(std::memory_order_relaxed) != 0; }
  /// For fork handlers.
  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

  static constexpr unsigned kRanges = 16;
  /// Most units of one range, 32 GiB; the rest of the range stays as it is.
  static constexpr uint32_t kMostUnits = 16384;

private:
  struct Range {
    char *start = nullptr; ///< first whole superpage; nullptr: free entry
    uint32_t units = 0, next = 0, done = 0;
    uint32_t done_before = 0; ///< `done` when the current round began
    uint8_t fruitless = 0;    ///< rounds without a promotion
    Ledger ledger;
    uint64_t is_done[kMostUnits / 64] = {};
  };
  void forget(Range &range);
  void insert(char *first, uint64_t units);
  uint64_t advise(char *first, uint64_t units, FirstTouchCost *price);
  bool charge(uint64_t units, bool fresh);
  void uncharge(uint64_t units);
  Range *find(const char *p);
  bool promote_next(Range &range, Price &price, unsigned &failures);
  void promote(Range &range, Price &price, uint64_t pause_ns, bool eager);

  Config config_;
  Counters *counters_ = nullptr;
  Range ranges_[kRanges];
  unsigned oldest_ = 0;
  std::atomic<unsigned> waiting_{0};
  std::atomic<uint64_t> left_{0};
  SpinLock lock_;
};

} // namespace smalloc
#endif
