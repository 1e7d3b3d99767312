// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mapped_ranges.h decides what memory gets that the program maps itself (mmap, numa_alloc) at a
// site that deserves superpages. It stays the program's mapping: nobody tells us when parts of it
// are unmapped, protected or moved, so all that is done is advice and collapsing in place, which
// change no content and are refused by the kernel where they no longer fit.
//  - At birth, when the compiler has proved that all of it is written: advice for its whole
//    superpages, for as long as their first touch is not dear. What has superpages counts against the budget
//    of the heaps for good: nobody tells us when it is unmapped.
//  - Otherwise it is remembered, and its dense units are collapsed at promotion points, while the
//    credit pays: as big objects are (promoter.cpp), without their finer rules. A range that stays
//    sparse, or is gone, is forgotten after some looks; the oldest makes room for a new one.
// Nothing here waits: who finds the table in use leaves, the estimate is poorer by one call.
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
    /// Whose budget the superpages are charged to; nullptr: units_left.
    Region *budget = nullptr;
    uint64_t units_left = UINT64_MAX >> 1;
    unsigned *pending = nullptr; ///< __smalloc_v1_pending: plus one a range that waits
    std::atomic<size_t> *passes_below =
        nullptr; ///< set to 0 when one begins to wait; may be nullptr
  };
  void init(const Config &config, Counters &counters) {
    config_ = config;
    left_.store(config.units_left, std::memory_order_relaxed);
    counters_ = &counters;
  }
  /// The program has mapped [start, start + bytes). price: of superpages at first touch; nullptr: whatever it is.
  /// promotable: what gets no advice is remembered.
  void born(char *start, size_t bytes, bool all_written, FirstTouchCost *price = nullptr,
            bool promotable = true);
  /// A promotion point: credit_of(bytes) says what it is worth to an object of that size.
  void touched(const void *p, uint64_t (*credit_of)(size_t bytes, void *data), void *data,
               Price &price, uint64_t least_pause_ns, bool eager);
  bool any() const { return waiting_.load(std::memory_order_relaxed) != 0; }
  /// Across fork.
  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

  static constexpr unsigned kRanges = 16;
  static constexpr uint32_t kMostUnits =
      16384; ///< of one range, 32 GiB; what lies behind stays as it is

private:
  struct Range {
    char *start = nullptr; ///< of the first whole superpage; nullptr: free
    uint32_t units = 0, next = 0, done = 0;
    uint32_t done_before = 0; ///< when this round over all of it began
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
