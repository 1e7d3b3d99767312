// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// broken_superpages.h rebuilds superpages that a fork has broken. The first write to a page that
// parent and child share splits the writer's mapping of the whole superpage. The memory then stays
// on base pages, even when the child is long gone. After a fork this class checks the superpages of
// the heaps in rounds, and the pause between rounds doubles. It collapses units whose pages have
// become the process' own. Units that the child still shares stay, because a collapse would copy
// them. The time that has passed pays for each collapse, as for a promotion.
#ifndef SMALLOC_PAGES_BROKEN_SUPERPAGES_H
#define SMALLOC_PAGES_BROKEN_SUPERPAGES_H

#include "smalloc/base/spin_lock.h"
#include "smalloc/pages/region.h"
#include "smalloc/pages/ski_rental.h"

namespace smalloc {

class BrokenSuperpages {
public:
  struct Heaps {
    /// Returns the first non-empty unit from `from` on, in an order of its own, that a heap counts
    /// as a superpage; nullptr: none is left. Sets `from` to the next position.
    char *(*next)(uint64_t &from);
    /// True if the heap still counts the unit as a superpage.
    bool (*counts)(const char *unit);
    /// True if a thread is waiting to fork.
    bool (*forks)();
  };
  void init(Region &region, const Heaps &heaps) {
    heaps_ = heaps;
    region_ = &region;
  }

  /// Schedules a round after a fork, in the parent and in the child. `in_handler`: a signal handler
  /// forked. Takes no lock; its only system call reads the time.
  void forked(bool in_child, bool in_handler = false);
  /// True if a round is due or under way.
  bool due() const;
  /// True if, after a fork, some superpage may still be shared with another process, or broken.
  bool waits() const { return waits_.load(std::memory_order_relaxed); }
  /// True if the helper thread may be started for it. False in a child: most children soon run
  /// another program. False also if a signal handler forked, as it may have interrupted an
  /// allocation: with a second thread a fork takes the C library's locks.
  bool wants_helper() const { return waits() && !without_helper_; }
  /// Continues the round until the credit is spent or `pause_ns` have passed. Returns at once while
  /// another thread does so.
  void mend(uint64_t credit_ns, uint64_t pause_ns, Price &price);
  /// Counts the broken superpages for statistics. Changes only Counters::superpages_broken.
  void count();

private:
  void end_round(uint64_t now);
  void stop();

  Region *region_ = nullptr;
  Heaps heaps_ = {};
  SpinLock lock_;
  std::atomic<bool> without_helper_{false};
  std::atomic<bool> waits_{false};
  std::atomic<uint64_t> due_ns_{0}, forks_{0};
  // State of the current round, guarded by lock_.
  uint64_t from_ = 0, forks_seen_ = 0, pause_ns_ = 0;
  Ledger ledger_;
  uint64_t broken_ = 0; ///< superpages that are on base pages now
  uint64_t shared_ = 0; ///< units that must be checked again
};

} // namespace smalloc
#endif
