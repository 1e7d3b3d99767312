// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// broken_superpages.h makes superpages again that a fork has broken. The first write to a page that
// parent and child share splits the writer's mapping of the whole superpage, for good: the memory stays on
// base pages when the child is long gone. After a fork the superpages of the heaps are looked at in
// rounds, between which the pause doubles. Those whose pages have become the process' own are
// collapsed; what the child still shares stays, because a collapse would copy it. Each
// collapse is paid for by the time that has passed, as a promotion is.
#ifndef SMALLOC_PAGES_BROKEN_SUPERPAGES_H
#define SMALLOC_PAGES_BROKEN_SUPERPAGES_H

#include "smalloc/base/spin_lock.h"
#include "smalloc/pages/region.h"
#include "smalloc/pages/ski_rental.h"

namespace smalloc {

class BrokenSuperpages {
public:
  struct Heaps {
    /// The first unit from `from` on, in an order of its own, that a heap counts as a superpage and that holds
    /// something; nullptr: none is left. `from` is then what to ask for next.
    char *(*next)(uint64_t &from);
    /// Does the heap still count the unit as a superpage?
    bool (*counts)(const char *unit);
    /// Somebody forks, and waits.
    bool (*forks)();
  };
  void init(Region &region, const Heaps &heaps) {
    heaps_ = heaps;
    region_ = &region;
  }

  /// After a fork, in the parent and in the child. Takes no lock and makes no call to the system but
  /// for the time.
  void forked(bool in_child, bool in_handler = false);
  /// A round is due, or goes on.
  bool due() const;
  /// Some superpage is shared with another process, or is broken.
  bool waits() const { return waits_.load(std::memory_order_relaxed); }
  /// The helper thread may be started for it. Not in a child: most become another program soon. Nor where a signal handler has
  /// forked, which may have interrupted an allocation: with a second thread a fork takes the C library's locks.
  bool wants_helper() const { return waits() && !without_helper_; }
  /// Goes on with the round until the credit is spent or pause_ns have passed. Does nothing while another
  /// thread is at it.
  void mend(uint64_t credit_ns, uint64_t pause_ns, Price &price);
  /// For statistics: a look at all, which changes nothing but Counters::superpages_broken.
  void count();

private:
  void end_round(uint64_t now);
  void stop();

  Region *region_ = nullptr;
  Heaps heaps_ = {};
  SpinLock lock_;
  bool without_helper_ = false;
  std::atomic<bool> waits_{false};
  std::atomic<uint64_t> due_ns_{0}, forks_{0};
  // Of the round that goes on; for who holds the lock.
  uint64_t from_ = 0, forks_seen_ = 0, pause_ns_ = 0;
  Ledger ledger_;
  uint64_t broken_ = 0; ///< superpages that are base pages
  uint64_t shared_ = 0; ///< units that have to be looked at again
};

} // namespace smalloc
#endif
