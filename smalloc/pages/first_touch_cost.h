// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// first_touch_cost.h compares what the first touch of a superpage costs here and now with what it
// saves: the first touches of 512 base pages, and the page walks afterwards. Usually it costs a fifth
// of them. Where the kernel has to compact memory first, or a hypervisor has to find the memory, it
// costs several times as much (measured: 4.6 ms against 0.8 ms of base pages).
//
// A superpage that is about to be written is populated and timed now and then: a few units of an
// object that is proved to be written, and each unit by which a heap of small objects grows. The
// balance of savings and losses of the whole process decides: when it falls below -kAllowanceNs,
// superpages are withheld for a pause, then one more is tried. The pause doubles while those are dear.
#ifndef SMALLOC_PAGES_FIRST_TOUCH_COST_H
#define SMALLOC_PAGES_FIRST_TOUCH_COST_H

#include "smalloc/base/units.h"
#include "smalloc/os/os_hooks.h"

#include <atomic>

namespace smalloc {

class FirstTouchCost {
public:
  /// Without this call no superpage is too expensive.
  void init(const OsHooks &os) { os_ = &os; }

  /// True during a pause: memory starts on base pages.
  bool too_expensive() const {
    return pause_until_ns_.load(std::memory_order_relaxed) != 0 && in_pause();
  }

  /// Populates the first units of an object whose every byte will be written, and times them. Returns
  /// how many of `units` units are to have superpages: all, or those populated before the balance fell
  /// too low. Takes as long as the program's own first touches would; call without locks.
  UnitIndex touch(char *start, UnitIndex units) {
    return static_cast<UnitIndex>(touch_some(start, units, false));
  }
  /// The same for units without advice: advises those that it populates.
  uint64_t touch_and_advise(char *start, uint64_t units) { return touch_some(start, units, true); }
  /// Accounts for a superpage that took `took_ns`. False: the balance fell too low.
  bool account(uint64_t took_ns);
  /// The same where 512 base pages are known to have taken `base_ns` just now.
  bool account(uint64_t took_ns, uint64_t base_ns);

  /// Makes sample() work: for runs that report what superpages cost.
  void enable_samples() { sampling_.store(true, std::memory_order_relaxed); }
  /// Populates and times the first unit of an object that is about to be written and whose cost is
  /// not asked for, in the first kMostSampled objects of kLeastSampled units and more.
  void sample(char *start, UnitIndex units) {
    if (sampling_.load(std::memory_order_relaxed) && units >= kLeastSampled)
      sample_one(start);
  }
  static constexpr UnitIndex kLeastSampled = 8;
  static constexpr uint64_t kMostSampled = 64;

  /// Units populated here so far, and the time that took.
  uint64_t touched_units() const { return touched_units_.load(std::memory_order_relaxed); }
  uint64_t touched_ns() const { return touched_ns_.load(std::memory_order_relaxed); }

  /// Units of one object that are populated in advance. Few: threads that initialise an object
  /// together do so faster, and each is on the memory node of its own first touches.
  static constexpr UnitIndex kMostUnits = 8;
  /// A superpage that takes no longer saves, whatever base pages take.
  static constexpr uint64_t kSurelyCheapNs = 250000;
  /// What 512 base pages take where that was not measured.
  static constexpr uint64_t kUsualBaseNs = 600000;
  /// What the walks that a superpage saves are worth: two visits of each cache line at a near walk
  /// (2 MiB / 64 B x 2 x 35 cycles at 3 GHz), as in small_pages.cpp.
  static constexpr uint64_t kWalksNs = 725000;
  static constexpr int64_t kAllowanceNs = 10000000, kMostBalanceNs = 200000000;
  static constexpr uint64_t kFirstPauseNs = 20000000, kLongestPauseNs = 2000000000;
  /// How long a measurement of base pages is believed, in multiples of what it took.
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
  std::atomic<uint64_t> base_ns_{0}, base_until_ns_{0}; ///< the last measurement, and its end
};

} // namespace smalloc
#endif
