// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// small_pages.h decides which pages stand behind small objects: the private jemalloc packs objects
// into extents, this packs extents into superpage-sized units and knows of every page whether it is
// in use. Growth takes base pages until the heap has outgrown the TLB's reach; full units are then
// collapsed as credit allows, and from Config::at_first_touch_bytes on new units are superpages at first touch. A unit goes back to the system as a whole if it is a superpage,
// page by page if it is not.
#ifndef SMALLOC_SMALL_SMALL_PAGES_H
#define SMALLOC_SMALL_SMALL_PAGES_H

#include "smalloc/base/spin_lock.h"
#include "smalloc/pages/first_touch_cost.h"
#include "smalloc/pages/region.h"
#include "smalloc/pages/ski_rental.h"
#include "smalloc/pages/unit_ranking.h"

namespace smalloc {

/// One heap of small objects: pages of one slice that start as base pages, and possibly of one that
/// does not.
class SmallPages {
public:
  static constexpr uint64_t kAtFirstTouchBytes = uint64_t{100} << 20,
                            kAtFirstTouchBytesOfProcess = uint64_t{2} << 20;
  struct Config {
    Slice base = Slice::kSmallBase;
    bool has_super = false;                 ///< may grow in Slice::kSmallSuper
    bool superpages_at_first_touch = false; ///< heap:superpage: always
    /// Live bytes from which new units are superpages at first touch. kAtFirstTouchBytes: a unit is at most 2 % of
    /// them; kAtFirstTouchBytesOfProcess: libsmalloc is the process' malloc, and the unit replaces the
    /// free memory that another malloc would keep.
    uint64_t at_first_touch_bytes = kAtFirstTouchBytes;
    /// Probes (see grows_dense()): every eighth unit, or, for the whole process' malloc, the 8th, 16th,
    /// 32nd ... unit from at_first_touch_bytes on.
    bool probes_double = false;
    /// Pages in use from which a unit on base pages may be collapsed.
    size_t dense_pages = kDensePages;
    unsigned idle_percent = 10;       ///< demote:, see small_demoter.cpp; 0: never
    bool collapse_as_it_grows = true; ///< false: the class heap, which is promoted when frozen
    /// Asked when the budget is used up: does somebody give superpages up for whom they are worth
    /// clearly less? nullptr: nobody.
    bool (*make_room)(uint64_t worth_per_unit, unsigned wanted) = nullptr;
    FirstTouchCost *first_touch = nullptr; ///< nullptr: superpages at first touch are never dear
    /// What the process has computed so far. What collapses have really taken stays within 3 % of it, and
    /// what promotion points have counted. nullptr: credit alone decides.
    uint64_t (*cpu_ns)() = nullptr;
    /// What the calling thread has, by which collapses are measured: beside other work on the processors they take several times
    /// as long, and not more of them. nullptr: by the clock.
    uint64_t (*thread_cpu_ns)() = nullptr;
  };

  bool init(Region &region, const Config &config);

  /// jemalloc's extent hooks end here. grow: address space, not yet usable. commit: usable and
  /// zero. decommit: the contents are gone for the caller. promotable: its units may be collapsed.
  char *grow(size_t bytes, size_t alignment, unsigned heaps_sharing, bool promotable = true);
  bool commit(char *start, size_t bytes);
  void decommit(char *start, size_t bytes);
  /// What the system would not take back (locked memory) is offered to it again.
  void purge_again();

  uint64_t live_bytes() const {
    return live_pages_.load(std::memory_order_relaxed) * kBasePageBytes;
  }
  /// Live bytes from which superpages pay: the smallest of the sites that use the heap. UINT64_MAX:
  /// none does.
  void lower_reach(uint64_t bytes);
  bool past_reach() const { return live_bytes() >= reach_bytes_.load(std::memory_order_relaxed); }
  bool covers(const char *p) const;

  /// Promotion credit. Time: 3 % of the time since the last call, so that what it costs is bounded
  /// by rule.
  /// counted_ns: what of it a promotion point has counted, in loops that begin now; the rest are guesses.
  void earn(uint64_t ns, uint64_t counted_ns = 0);
  void earn_time();
  /// Full units on base pages that may be collapsed now. Cheap enough for an allocator call.
  bool pending() const { return dense_units_.load(std::memory_order_relaxed) != 0 && past_reach(); }
  /// Superpages have saved the heap this, or would have: what it has to say when the budget is short
  /// (demoter.cpp).
  void note_worth(uint64_t ns) { worth_ns_.fetch_add(ns, std::memory_order_relaxed); }
  uint64_t worth_per_unit() const {
    return worth_ns_.load(std::memory_order_relaxed) / max_of<uint64_t>(units_for(live_bytes()), 1);
  }
  void halve_worth(unsigned times);
  /// Has superpages to give, now or a moment ago.
  bool has_superpages();
  /// The first superpage that holds something from `from` on, and what to ask for next; nullptr: none is left.
  char *next_superpage(uint64_t &from);
  bool counts_superpage(const char *unit);
  /// Demotes up to `most` superpages, the emptiest first. Returns how many.
  unsigned give_up(unsigned most);
  /// Set while credit for at least one collapse is there.
  bool due() const { return due_.load(std::memory_order_relaxed); }
  void promote(Price &price, uint64_t pause_ns, bool eager);
  /// Collapses every unit that is dense enough, whatever it costs. Returns how many are superpages
  /// now. For freezing.
  UnitIndex promote_all(Price &price);

  /// Who promotes may ask the big objects for room: this lock comes before theirs, the other after (Runtime::before_fork).
  void lock_promotion() { promotion_lock_.lock(); }
  void unlock_promotion() { promotion_lock_.unlock(); }
  bool lock_comes_free() { return lock_.comes_free(); }
  /// Something waits, and is paid for.
  bool is_funded() const { return funded_.load(std::memory_order_relaxed) && pending(); }
  void lock_all() { lock_.lock(); }
  void unlock_all() { lock_.unlock(); }
  bool check_invariants();

private:
  struct Unit {
    uint64_t used[kPagesPerUnit / 64];  ///< by page: jemalloc may touch it
    uint64_t dirty[kPagesPerUnit / 64]; ///< by page: not used and not zero either
    uint16_t pages_used;
    uint8_t failures; ///< collapses that the kernel refused, or residency too low
    bool superpage;   ///< is one, or will be once it is used: charged
    bool had;         ///< is one: counted
    bool dense;       ///< counted in dense_units_
    bool demoted;     ///< had its superpage at first touch; now advised against
    bool cold;        ///< never a superpage
  };
  struct Area {
    Slice slice = Slice::kSmallBase;
    Unit *units = nullptr;
    UnitIndex count = 0;
    UnitIndex rank_base = 0; ///< of its first unit in ranking_
  };
  static constexpr unsigned kMostFailures = 8;
  static constexpr unsigned kProbeEvery = 8, kProbes = 3;
  Unit &unit_of(const char *p, Area *&area, UnitIndex &index);
  void update(Area &area, UnitIndex index);
  struct FullUnit {
    size_t used; ///< pages
    bool superpage;
  };
  FullUnit full_unit(const Area &area, UnitIndex index);
  bool grows_dense(size_t units);
  bool superpages_hold_data();
  void note_had(Unit &unit);
  void note_live(); ///< for the statistics
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
  UnitRanking ranking_;     ///< superpages that hold something
  uint64_t idle_pages_ = 0; ///< in superpages that hold something: resident, and nobody's
  std::atomic<uint64_t> live_pages_{0}, reach_bytes_{UINT64_MAX};
  std::atomic<uint32_t> dense_units_{0};
  std::atomic<bool> due_{false};
  std::atomic<uint64_t> earned_ns_{0}; ///< not yet in the ledger
  std::atomic<uint64_t> worth_ns_{0};
  std::atomic<uint64_t> counted_ns_{0}; ///< of what was earned
  uint64_t paid_ns_ = 0;                ///< by collapses; see affordable()
  Ledger ledger_;
  uint64_t last_time_ns_ = 0;
  UnitIndex next_unit_ = 0;
  std::atomic<unsigned> growths_{0}; ///< that were due for superpages at first touch
};

} // namespace smalloc
#endif
