// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// birth_price.h decides whether superpages at birth are worth their first touch here and now. Where there is memory for them, one
// costs a fifth of its 512 base pages. Where a hypervisor has taken free memory back, or the kernel has to compact memory first, it
// costs several times as much (measured: 4.5 ms against 0.1, base pages 0.6: a program that initialises 1 GiB and is done with it
// took twice the time). Nobody knows beforehand which it will be, nor for how many: so the units of memory that is about to be written
// anyway are touched in advance, and timed. As soon as what the dear ones have cost more than base pages eats up half of what the
// others have saved, the rest starts on base pages, and is promoted when a loop has paid for it (ski_rental.h). In advance costs
// nothing by itself: 900 MiB take 131 ms to write either way.
#ifndef SMALLOC_CORE_BIRTH_PRICE_H
#define SMALLOC_CORE_BIRTH_PRICE_H

#include "smalloc/base/units.h"
#include "smalloc/os/os_hooks.h"

#include <atomic>

namespace smalloc {

class BirthPrice {
public:
  /// Without it everything is cheap.
  void init(const OsHooks &os, const char *sysfs_root) {
    os_ = &os;
    sysfs_root_ = sysfs_root;
  }

  /// Were superpages dear a moment ago? Then memory starts on base pages without another look.
  bool is_dear() const {
    return dear_until_ns_.load(std::memory_order_relaxed) != 0 && looks_dear();
  }

  /// Touches units that may have superpages and have nothing yet, from the first on, while that is cheap. Returns how many of them are
  /// to have superpages: all, or those that have been touched. Takes as long as the program's own first touch would; not to be called
  /// with a lock held that others wait for.
  UnitIndex touch(char *start, UnitIndex units) {
    return static_cast<UnitIndex>(touch_some(start, units, false));
  }
  /// The same of units that have no advice yet; each gets it first, and what lies behind those that are to have superpages gets none.
  uint64_t touch_and_advise(char *start, uint64_t units) { return touch_some(start, units, true); }

  /// In a run that reports: somebody wants to know what superpages cost here that nobody asks the price of.
  void tell_sampled() { sampling_.store(true, std::memory_order_relaxed); }
  /// Such units are about to be written: touches the first of kLeastSampled or more, of kMostSampled objects. A few each that
  /// show the price, by the thread that most likely writes them first.
  void sample(char *start, UnitIndex units) {
    if (sampling_.load(std::memory_order_relaxed) && units >= kLeastSampled)
      sample_one(start);
  }
  static constexpr UnitIndex kLeastSampled = 8;
  static constexpr uint64_t kMostSampled = 64;

  /// What was touched in advance so far, and how long that took: what a superpage's first touch costs in this process.
  uint64_t touched_units() const { return touched_units_.load(std::memory_order_relaxed); }
  uint64_t touched_ns() const { return touched_ns_.load(std::memory_order_relaxed); }

  /// A superpage that takes no longer than this is cheap, whatever base pages take.
  static constexpr uint64_t kSurelyCheapNs = 250000;
  /// Superpages may cost this many times as much as base pages: they save translation as well.
  static constexpr uint64_t kMostTimesBase = 2;
  /// After a loss nothing is tried for so many times as long, and what base pages cost is believed for so many times as long as it took
  /// to find out: a hundredth of the time is lost at most.
  static constexpr uint64_t kPauseTimesLoss = 100;
  /// Units of one object that are touched in advance, 4 GiB: threads that initialise together do that better together. Where so many
  /// were cheap, a few of each object show that it is still so; where there are several nodes, the first toucher's is the right one.
  static constexpr UnitIndex kMostUnits = 2048, kMostTrusted = 64, kMostOfNodes = 8;

private:
  bool looks_dear() const;
  void sample_one(char *start);
  void note_touch(uint64_t took) {
    touched_units_.fetch_add(1, std::memory_order_relaxed);
    touched_ns_.fetch_add(took, std::memory_order_relaxed);
  }
  uint64_t touch_some(char *start, uint64_t units, bool advise);
  uint64_t most_units();
  uint64_t base_price();
  uint64_t base_now();

  const OsHooks *os_ = nullptr;
  const char *sysfs_root_ = "/sys";
  std::atomic<uint64_t> dear_until_ns_{0};
  std::atomic<uint64_t> cheap_in_a_row_{0};
  std::atomic<uint64_t> touched_units_{0}, touched_ns_{0}, sampled_{0};
  std::atomic<bool> sampling_{false};
  std::atomic<uint64_t> base_ns_{0},
      base_until_ns_{0};          ///< of a unit on base pages, and how long that is believed
  std::atomic<uint8_t> nodes_{0}; ///< 0: not known, 1, 2: several
};

} // namespace smalloc
#endif
