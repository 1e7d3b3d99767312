// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// first_touch_cost.h compares the cost of a superpage's first touch with what the superpage saves:
// the first touches of 512 base pages, and the page walks afterwards. Usually its first touch costs
// a fifth of that. If the kernel has to compact memory first, or a hypervisor has to find the
// memory, it costs several times as much (measured: 4.6 ms against 0.8 ms of base pages).
//
// This class populates and times some superpages just before the program writes them: a few units
// of an object that is proved to be written, and one unit at each growth of a heap of small
// objects. It sums up savings and losses of the whole process in one balance. If the balance falls
// below -kAllowanceNs, objects get no superpages for a pause. Then it tries one more superpage. The
// pause doubles while they remain too expensive.
#ifndef SMALLOC_PAGES_FIRST_TOUCH_COST_H
#define SMALLOC_PAGES_FIRST_TOUCH_COST_H

#include "smalloc/base/units.h"
#include "smalloc/os/os_hooks.h"

#include <atomic>

namespace smalloc {

class FirstTouchCost {
public:
  /// Sets the system's functions. Without this call no superpage is too expensive.
  void init(const OsHooks &os) { os_ = &os; }

  /// True during a pause: memory starts on base pages.
  bool too_expensive() const {
    return pause_until_ns_.load(std::memory_order_relaxed) != 0 && in_pause();
  }

  /// Populates the first units of an object whose every byte will be written, and times them.
  /// Returns how many of `units` units should have superpages: all, or those populated before the
  /// balance fell too low. Takes as long as the program's own first touches would. Call it without
  /// locks.
  UnitIndex touch(char *start, UnitIndex units) {
    return static_cast<UnitIndex>(touch_some(start, units, false));
  }
  /// Acts as touch() for units without advice, and advises those that it populates.
  uint64_t touch_and_advise(char *start, uint64_t units) { return touch_some(start, units, true); }
  /// Accounts for a superpage whose first touch took `took_ns`. Returns false if the balance fell
  /// too low.
  bool account(uint64_t took_ns);
  /// Acts as account(took_ns) if 512 base pages are known to have taken `base_ns` just now.
  bool account(uint64_t took_ns, uint64_t base_ns);

  /// Enables sample(), for runs that report the cost of superpages.
  void enable_samples() { sampling_.store(true, std::memory_order_relaxed); }
  /// Populates and times the first unit of an object that is about to be written and that touch()
  /// does not time. Only for the first kMostSampled objects of at least kLeastSampled units.
  void sample(char *start, UnitIndex units) {
    if (sampling_.load(std::memory_order_relaxed) && units >= kLeastSampled)
      sample_one(start);
  }
  static constexpr UnitIndex kLeastSampled = 8;
  static constexpr uint64_t kMostSampled = 64;

  /// Return the number of units populated here so far, and the time that took.
  uint64_t touched_units() const { return touched_units_.load(std::memory_order_relaxed); }
  uint64_t touched_ns() const { return touched_ns_.load(std::memory_order_relaxed); }

  /// Units of one object that are populated in advance. Few: threads that initialise an object
  /// together do so faster, and each puts pages on its own memory node.
  static constexpr UnitIndex kMostUnits = 8;
  /// A superpage whose first touch takes no longer saves time, whatever base pages take.
  static constexpr uint64_t kSurelyCheapNs = 250000;
  /// Assumed cost of the first touches of 512 base pages, if it was not measured.
  static constexpr uint64_t kUsualBaseNs = 600000;
  /// Value of the page walks that a superpage saves: two visits of each cache line at a near walk
  /// (2 MiB / 64 B x 2 x 35 cycles = 765 us at 3 GHz). Rounded to half the price of a collapse, as
  /// in small_pages.cpp.
  static constexpr uint64_t kWalksNs = 725000;
  /// Bounds of the balance, from -kAllowanceNs to kMostBalanceNs: old savings must not hide new
  /// losses for long.
  static constexpr int64_t kAllowanceNs = 10000000, kMostBalanceNs = 200000000;
  static constexpr uint64_t kFirstPauseNs = 20000000, kLongestPauseNs = 2000000000;
  /// Time for which a measurement of base pages is valid, in multiples of what it took.
  static constexpr uint64_t kBelieveTimes = 100;

private:
  bool in_pause() const;
  void sample_one(char *start);
  void count(uint64_t took_ns) {
    touched_units_.fetch_add(1, std::memory_order_relaxed);
    touched_ns_.fetch_add(took_ns, std::memory_order_relaxed);
  }
  uint64_t touch_some(char *start, uint64_t units, bool advise);
  uint64_t base_ns();

  const OsHooks *os_ = nullptr;
  std::atomic<uint64_t> pause_until_ns_{0}, pause_ns_{kFirstPauseNs};
  std::atomic<int64_t> balance_ns_{0};
  std::atomic<uint64_t> touched_units_{0}, touched_ns_{0}, sampled_{0};
  std::atomic<bool> sampling_{false};
  std::atomic<uint64_t> base_ns_{0}, base_until_ns_{0}; ///< the last measurement, and the end of
                                                        ///< its validity
};

} // namespace smalloc
#endif
