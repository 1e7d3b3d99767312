// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// small_pages.h manages the pages behind small objects. The private jemalloc packs objects into
// extents. SmallPages packs extents into units (2 MiB) and records of every page whether it is in
// use. Growth takes base pages until the heap exceeds the TLB's reach. Then full units are
// collapsed to superpages as credit allows. From Config::at_first_touch_bytes on, new units are
// superpages at first touch. An empty superpage goes back to the kernel as a whole; base pages go
// back page by page.
#ifndef SMALLOC_SMALL_SMALL_PAGES_H
#define SMALLOC_SMALL_SMALL_PAGES_H

#include "smalloc/base/spin_lock.h"
#include "smalloc/pages/first_touch_cost.h"
#include "smalloc/pages/region.h"
#include "smalloc/pages/ski_rental.h"
#include "smalloc/pages/unit_ranking.h"

namespace smalloc {

/// One heap of small objects. It has a slice whose pages start as base pages, and optionally a
/// second slice whose pages start as superpages.
class SmallPages {
public:
  static constexpr uint64_t kAtFirstTouchBytes = uint64_t{100} << 20,
                            kAtFirstTouchBytesOfProcess = uint64_t{2} << 20;
  struct Config {
    Slice base = Slice::kSmallBase;
    bool has_super = false;                 ///< true: may also grow in Slice::kSmallSuper
    bool superpages_at_first_touch = false; ///< true: always (heap:superpage)
    /// Live bytes from which new units are superpages at first touch. kAtFirstTouchBytes: a unit is
    /// at most 2 % of them. kAtFirstTouchBytesOfProcess: libsmalloc is the process' malloc, and the
    /// unit replaces the free memory that another malloc would keep.
    uint64_t at_first_touch_bytes = kAtFirstTouchBytes;
    /// Growths at which the contents of superpages are examined (see grows_dense()). False: every
    /// eighth. True, for the whole process' malloc: each one; once superpages were seen to hold
    /// zeros, the 8th, 16th, 32nd ... only.
    bool probes_double = false;
    /// Used pages from which a unit on base pages may be collapsed.
    size_t dense_pages = kDensePages;
    unsigned idle_percent = 10; ///< the setting demote: (small_demoter.cpp); 0: never
    /// False: the class heap, which is promoted when it is frozen.
    bool collapse_as_it_grows = true;
    /// Called when the budget is used up. True: a heap whose superpages are worth clearly less has
    /// given some up. nullptr: no other heap gives any up.
    bool (*make_room)(uint64_t worth_per_unit, unsigned wanted) = nullptr;
    /// Called before each kNotedBytes that are made usable, from inside jemalloc. nullptr: not.
    void (*note_growth)(uint64_t bytes) = nullptr;
    /// Nullptr: superpages at first touch are never too expensive.
    FirstTouchCost *first_touch = nullptr;
    /// Returns the CPU time of the process so far. The measured cost of all collapses stays within
    /// 3 % of it, plus the savings that promotion points have counted. nullptr: only the credit
    /// limits collapses.
    uint64_t (*cpu_ns)() = nullptr;
    /// Returns the calling thread's CPU time, by which collapses are measured. Beside other work on
    /// the processors a collapse takes several times as long by the clock, at the same CPU time.
    /// nullptr: the clock is used.
    uint64_t (*thread_cpu_ns)() = nullptr;
  };

  bool init(Region &region, const Config &config);

  /// The functions behind jemalloc's extent hooks. grow() returns address space that is not yet
  /// usable; `promotable`: its units may be collapsed. commit() makes memory usable and zero.
  /// decommit() discards the contents.
  char *grow(size_t bytes, size_t alignment, unsigned heaps_sharing, bool promotable = true);
  bool commit(char *start, size_t bytes);
  void decommit(char *start, size_t bytes);
  /// Tries again to release the pages that the kernel refused before (locked memory).
  void purge_again();

  uint64_t live_bytes() const {
    return live_pages_.load(std::memory_order_relaxed) * kBasePageBytes;
  }
  /// Lowers the live bytes from which superpages pay to `bytes`: the smallest value of all sites
  /// that use the heap. UINT64_MAX: they pay for none.
  void lower_reach(uint64_t bytes);
  bool past_reach() const { return live_bytes() >= reach_bytes_.load(std::memory_order_relaxed); }
  bool covers(const char *p) const;

  /// Add promotion credit. earn_time() adds 3 % of the time since the last call, which bounds the
  /// cost of promotion. `counted_ns`: the part of `ns` that a promotion point has counted for loops
  /// that begin now; the rest is an estimate.
  void earn(uint64_t ns, uint64_t counted_ns = 0);
  void earn_time();
  /// True if full units on base pages wait for a collapse. Cheap enough for every allocator call.
  bool pending() const { return dense_units_.load(std::memory_order_relaxed) != 0 && past_reach(); }
  /// Adds `ns` to the time that superpages have saved this heap, or would have. The sum is the
  /// heap's claim when the budget is short (demoter.cpp).
  void note_worth(uint64_t ns) { worth_ns_.fetch_add(ns, std::memory_order_relaxed); }
  uint64_t worth_per_unit() const {
    return worth_ns_.load(std::memory_order_relaxed) / max_of<uint64_t>(units_for(live_bytes()), 1);
  }
  void halve_worth(unsigned times);
  /// True if the heap has a superpage that it can give up. May be outdated on return.
  bool has_superpages();
  /// Returns the first superpage in use at or after position `from`, and moves `from` behind it.
  /// nullptr: none is left.
  char *next_superpage(uint64_t &from);
  bool counts_superpage(const char *unit);
  /// Demotes up to `most` superpages, the emptiest first. Returns how many.
  unsigned give_up(unsigned most);
  /// True while the credit covers at least one collapse.
  bool due() const { return due_.load(std::memory_order_relaxed); }
  void promote(Price &price, uint64_t pause_ns, bool eager);
  /// Calls `collapse`, which collapses a superpage outside of the heap, if the heap's credit pays
  /// for it. False: it does not, or `collapse` has returned false.
  bool pay_for(Price &price, bool (*collapse)());
  /// Collapses every unit that is dense enough, at any cost. Returns how many units are superpages
  /// now. For freezing.
  UnitIndex promote_all(Price &price);

  /// Lock order: this lock, the big objects' lock, then lock_all()'s (Runtime::before_fork). A
  /// thread that promotes may make the big objects give room.
  void lock_promotion() { promotion_lock_.lock(); }
  void unlock_promotion() { promotion_lock_.unlock(); }
  bool lock_comes_free() { return lock_.comes_free(); }
  /// True if kLeastFollowedUnits or more were requested and not touched: the program may fill them
  /// now. Cheap.
  bool follows_fill() const {
    const UnitIndex front = fill_.load(std::memory_order_relaxed);
    return front != kNoUnit && region_->grown_units(areas_[0].slice) >= front + kLeastFollowedUnits;
  }
  /// Follows the fill of units that the program had requested before it filled the first, and gives
  /// superpages ahead of it. Returns how many sixteenths of a unit the program has filled since the
  /// last call. For the helper thread.
  unsigned look_ahead();
  /// Releases the lock that another thread of the parent may have held.
  void after_fork_in_child() { fill_lock_.unlock(); }
  /// True if units wait for a collapse and the credit covers it.
  bool is_funded() const { return funded_.load(std::memory_order_relaxed) && pending(); }
  void lock_all() { lock_.lock(); }
  void unlock_all() { lock_.unlock(); }
  bool check_invariants();

private:
  struct Unit {
    uint64_t used[kPagesPerUnit / 64];  ///< bit per page: jemalloc may touch it
    uint64_t dirty[kPagesPerUnit / 64]; ///< bit per page: neither used nor zero
    uint16_t pages_used;
    uint8_t failures; ///< collapses that the kernel refused, or that found too few resident pages
    bool superpage;   ///< superpage now or from its first use on; charged to the budget
    bool had;         ///< superpage now, and counted as one
    bool dense;       ///< counted in dense_units_
    bool demoted;     ///< had its superpage at first touch; now advised against
    bool advised;     ///< of the base slice, but with advice of its own (advise_empty())
    bool cold;        ///< never becomes a superpage
  };
  struct Area {
    Slice slice = Slice::kSmallBase;
    Unit *units = nullptr;
    UnitIndex count = 0;
    UnitIndex rank_base = 0; ///< index of its first unit in ranking_
  };
  static constexpr unsigned kMostFailures = 8;
  /// For grows_dense(): growths between two probes by number; full units that one growth examines;
  /// untouched units that it skips at most.
  static constexpr unsigned kProbeEvery = 8, kProbes = 3, kMostUntouched = 16;
  static constexpr UnitIndex kLeastFollowedUnits = 16; ///< fewer are not worth a thread
  /// Freed pages that show whether the program touches what it requests; those that are remembered;
  /// the shortest freed range that is examined, since that takes 3 us.
  static constexpr size_t kTellingPages = 4 * kPagesPerUnit, kRememberedPages = 64 * kPagesPerUnit,
                          kExaminedPages = 32;
  Unit &unit_of(const char *p, Area *&area, UnitIndex &index);
  void update(Area &area, UnitIndex index);
  struct FullUnit {
    size_t used; ///< in pages
    bool superpage;
  };
  FullUnit full_unit(const Area &area, UnitIndex index);
  bool grows_dense(size_t units);
  bool superpages_hold_data(unsigned &seen);
  /// True if the heap has as many live bytes as superpages at first touch need.
  bool is_large(unsigned heaps_sharing) const {
    return past_reach() && live_bytes() >= config_.at_first_touch_bytes * max_of(heaps_sharing, 1u);
  }
  size_t resident_pages_of(const Area &area, UnitIndex index) const;
  void note_freed(const Area &area, UnitIndex index, size_t first, size_t end);
  void use(char *start, size_t bytes, char *&advised);
  bool advise_empty(Area &area, UnitIndex index);
  bool advise_base_unit(Area &area, UnitIndex index);
  void begin_fill(UnitIndex index);
  bool is_filled(UnitIndex index, const FullUnit &unit) const;
  void give_ahead_of_fill(UnitIndex front);
  void withdraw_advice(Unit &unit, char *start);
  void advise_first_touch(Area &area, UnitIndex index);
  /// True if a superpage of the unit comes with its first touch. Its charge stays while the unit is
  /// empty.
  bool starts_as_superpage(const Area &area, const Unit &unit) const {
    return &area == &areas_[1] || unit.advised;
  }
  void note_had(Unit &unit);
  void note_live(); ///< updates the statistics
  static unsigned ranked_pages(const Unit &unit) { return unit.superpage ? unit.pages_used : 0; }
  void release_empty(Area &area, UnitIndex index);
  void purge_idle(Unit &unit, char *start);
  bool demote_unit(Area &area, UnitIndex index);
  bool find_emptiest(Area *&area, UnitIndex &index);
  void demote_idle();
  int promote_demoted(char *start, uint64_t &took);
  void restore_first_touch(Area &area, UnitIndex index);
  bool affordable(int64_t price_ns) const;
  int try_unit(Area &area, UnitIndex index, Price &price);

  Region *region_ = nullptr;
  Config config_;
  Area areas_[2] = {};
  unsigned area_count_ = 0;
  SpinLock lock_, promotion_lock_;
  std::atomic<bool> funded_{false};
  UnitRanking ranking_;     ///< superpages in use
  uint64_t idle_pages_ = 0; ///< unused pages of superpages in use: resident, but in no object
  std::atomic<uint64_t> live_pages_{0}, reach_bytes_{UINT64_MAX};
  std::atomic<uint32_t> dense_units_{0};
  std::atomic<bool> due_{false};
  std::atomic<uint64_t> earned_ns_{0}; ///< not yet in the ledger
  std::atomic<uint64_t> worth_ns_{0};
  std::atomic<uint64_t> counted_ns_{0}; ///< the counted part of what was earned
  uint64_t paid_ns_ = 0;                ///< measured cost of collapses; see affordable()
  Ledger ledger_;
  uint64_t last_time_ns_ = 0;
  UnitIndex next_unit_ = 0;
  /// Of the pages that the program freed lately: those examined, and those it had touched.
  size_t freed_pages_ = 0, touched_pages_ = 0;
  /// The unit of the base slice that the program is filling (kNoUnit: it fills what it requests),
  /// its filled pages at the last look, and the end of the units given ahead. fill_lock_ guards the
  /// last two.
  SpinLock fill_lock_;
  std::atomic<UnitIndex> fill_{kNoUnit};
  size_t fill_pages_ = 0;
  UnitIndex given_end_ = 0;
  /// The program had touched 7/8 of what it freed lately.
  std::atomic<bool> frees_dense_{false};
  std::atomic<uint64_t> grown_bytes_{0}; ///< made usable since the last note_growth()
  static constexpr uint64_t kNotedBytes = kSuperpageBytes;
  std::atomic<unsigned> growths_{0}; ///< growths that were due for superpages at first touch
  /// The last one found superpages that look empty; superpages that looked so were filled with
  /// zeros. Both without a lock: a lost update costs a probe.
  std::atomic<bool> looked_empty_{false}, holds_zeros_{false};
};

} // namespace smalloc
#endif
