// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ski_rental.h finds out when a promotion is paid for. A collapse costs 1.45 ms a superpage if its
// pages are warm and ten times that if they are cold. Its saving is the compiler's estimate of TLB
// misses, call by call. Ski rental (Karlin et al., "Competitive snoopy caching", Algorithmica
// 1988): rent (base pages) until the rent paid would have bought (the collapse). Without knowing
// the future, this costs at most twice the best choice in hindsight.
#ifndef SMALLOC_PAGES_SKI_RENTAL_H
#define SMALLOC_PAGES_SKI_RENTAL_H

#include "smalloc/base/units.h"

#include <atomic>

namespace smalloc {

/// Cost of a TLB miss, by how much memory competes for the caches of the walk's page-table entries.
struct WalkCost {
  unsigned near_cycles = 35; ///< page-table entries are in the second-level cache
  unsigned far_cycles = 89;  ///< page-table entries come from memory
  size_t reach_bytes = size_t{8} << 20;

  /// Returns the cycles of a walk for an object (or heap) of `bytes`: near up to 4 x the TLB's
  /// reach, far from 256 x on, linear in the logarithm between (measured on Zen 4: 35 at the reach,
  /// 89 at 2 GB).
  unsigned cycles(size_t bytes) const {
    unsigned steps = 0;
    for (size_t limit = reach_bytes * 4; limit < bytes && steps < 6; limit *= 2)
      steps++;
    return near_cycles + (far_cycles - near_cycles) * steps / 6;
  }
  /// Returns the value of `misses` saved misses in ns. Assumes 3 cycles a ns, a guess between 2.4
  /// (dense servers) and 5. It is within a factor of 1.7 of all machines of the table; the rule
  /// needs only the order of magnitude.
  uint64_t nanoseconds(uint64_t misses, size_t bytes) const {
    constexpr uint64_t kMost = uint64_t{1} << 50;
    return min_of(misses, kMost) * cycles(bytes) / 3;
  }
};

/// Credit and debit of one object or heap, in ns. Not thread-safe.
class Ledger {
public:
  static constexpr int64_t kStartPriceNs = 1450000; ///< 2 MiB, warm, Zen 4 guest
  static constexpr int64_t kMostCreditNs = int64_t{1} << 60;

  void earn(uint64_t ns) {
    credit_ns_ = ns > static_cast<uint64_t>(kMostCreditNs - credit_ns_)
                     ? kMostCreditNs
                     : credit_ns_ + static_cast<int64_t>(ns);
  }
  void pay(uint64_t ns) { credit_ns_ -= static_cast<int64_t>(ns); }
  bool covers(int64_t price_ns) const { return credit_ns_ >= price_ns; }
  int64_t credit_ns() const { return credit_ns_; }

private:
  int64_t credit_ns_ = 0;
};

/// Collapses that no promotion point pays for may take this part of the program's time: one
/// thirty-second, 3 %. A program that has run for some time will run for as long again on average.
/// Superpages save a heap beyond the TLB's reach some 3 to 10 % of its time
/// (docs/internals/design.md).
constexpr uint64_t kTimePerCollapseTime = 32;
/// The same for an object that was filled in no order, as a hash table is. The program uses it in
/// that way later, too: superpages save a fifth of the time and more (measured: 22 % with 256 MiB).
constexpr uint64_t kTimePerCollapseTimeInAnyOrder = 8;

/// Running estimate of one collapse's cost; each new measurement counts for a quarter. All objects
/// and threads share it. An update lost to a race is one measurement less.
class Price {
public:
  int64_t ns() const { return ns_.load(std::memory_order_relaxed); }
  void measured(uint64_t measured_ns) {
    int64_t old = ns();
    ns_.store(old + (static_cast<int64_t>(measured_ns) - old) / 4, std::memory_order_relaxed);
  }

private:
  std::atomic<int64_t> ns_{Ledger::kStartPriceNs};
};

} // namespace smalloc
#endif
