// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// big_objects.h lays out and resizes objects of one superpage (2 MiB) and more. An object takes
// whole units of a slice. Its start is staggered by cache lines and pages; its tail behind the last
// whole superpage has base pages. Metadata lies in tables indexed by unit, so the size of any
// object is found in O(1), also from a pointer into its middle. Freed units are kept for later
// objects only as far as the program has been seen to need them again.
#ifndef SMALLOC_BIG_BIG_OBJECTS_H
#define SMALLOC_BIG_BIG_OBJECTS_H

#include "smalloc/base/spin_lock.h"
#include "smalloc/big/fill_history.h"
#include "smalloc/numa/placement.h"
#include "smalloc/pages/first_touch_cost.h"
#include "smalloc/pages/page_fallback.h"
#include "smalloc/pages/region.h"
#include "smalloc/pages/ski_rental.h"
#include "smalloc/pages/unit_map.h"

namespace smalloc {

struct BigObject {
  uint64_t bytes; ///< committed bytes from the object's address on
  Ledger ledger;  ///< promotion credit
  /// Time that superpages have saved the object, or would have; halves every second under shortage.
  uint64_t worth_ns;
  uint32_t units;       ///< 0: no object starts here
  uint32_t offset;      ///< of the object's address in its first unit
  uint32_t whole_units; ///< units that are or may become superpages
  uint32_t superpages;  ///< units that are superpages
  uint32_t next_unit;   ///< where the promoter continues
  uint16_t pause;       ///< promotion attempts to skip; doubles while the object stays sparse
  uint16_t skipped;
  PageFallback::Pooled pooled;   ///< leading units that are pages of a pool
  bool pending;                  ///< waits for promotion
  uint8_t fruitless;             ///< consecutive rounds without a promotion
  uint32_t looks = 0, finds = 0; ///< examined units of this round, and promoted ones among them
  bool refused = false;          ///< the last round ended because the kernel refused to collapse
  bool placed = false;           ///< has NUMA policies of its own: none of its units is kept
  bool demoted = false; ///< some unit lost its superpage at first touch, or it was too expensive
  bool medium = false;  ///< has advice of its own for 64 KiB pages
  /// Its site's statistics lack superpages that it lost or got after allocation.
  bool site_unpublished = false;
  bool promotable = true; ///< this and the next four: as in BigRequest, for a copy of the object
  bool whole_superpages = false;
  PageKind first = PageKind::kSuperpage;
  uint32_t profile_worth = 0;
  numa::Placement placement;
  uint32_t mappings;                ///< mappings charged to the budget
  uint64_t history = 0;             ///< its key in FillHistory; 0: none
  bool watched = false;             ///< look_ahead() observes its fill (big_ahead.cpp)
  uint8_t looks_without_growth = 0; ///< consecutive looks that found nothing new in it
  /// Its first pages were filled in no order, as in a hash table. Written by the helper thread, and
  /// read without a lock.
  bool any_order = false;
  bool shows_data = false;  ///< a unit given ahead was seen to hold the program's data
  uint16_t probe_pages = 0; ///< resident pages of the probe at the last look
  uint32_t probe = 0;       ///< the unit on base pages that shows how far the object is filled
  uint64_t given_ns = 0;    ///< when the units in front of the probe were given; 0: none were
  /// When the program reached the probe; 0: not yet, or before the first look.
  uint64_t begun_ns = 0;
  uint16_t begun_pages = 0; ///< resident pages of the probe at begun_ns
  uint64_t filled_ns = 0;   ///< when the last unit in front of the probe was seen to be filled
  /// Since when no more of the units given ahead was filled; 0: the last look found growth.
  uint64_t still_ns = 0;
  bool stale = false;   ///< the fill has stopped for so long that untouched units were withdrawn
  uint64_t base_ns = 0; ///< time that one unit of the object takes to fill on base pages
  uint32_t ahead_units = 0;  ///< units advised in front of the probe and not known to be filled
  uint16_t ahead_filled = 0; ///< parts of ahead_units that hold data

  /// Excludes the slack, which the program never gets: is_pristine() relies on that.
  uint64_t usable_bytes() const { return bytes - kSlackBytes; }
};

struct BigRequest {
  size_t bytes = 0;
  size_t alignment = 16;
  /// The object gets superpages before the program touches it, at once or (`ahead`) as it fills
  /// the object.
  bool superpages_at_first_touch = false;
  bool if_cheap = false; ///< superpages at first touch only while they are not too expensive
  bool written = false;  ///< every byte will be written (proved)
  bool ahead = false;    ///< superpages ahead of the program's first touches (big_ahead.cpp)
  uint64_t history = 0;  ///< key in FillHistory; 0: none
  bool promotable = true;
  bool zero = false;
  bool whole_superpages = false; ///< the last superpage is taken whole: no tail on base pages
  /// The page kind that a directive names. kGigantic needs superpages_at_first_touch. kMedium
  /// excludes superpages, now and later. kSuperpage adds nothing to the user's first step.
  PageKind first = PageKind::kSuperpage;
  /// As smalloc_site::worth. Under a budget the object takes superpages from objects that are worth
  /// less.
  uint32_t profile_worth = 0;
  numa::Placement placement;
};

/// Freed units that are kept for later objects, in bytes of address space that stay resident. The
/// bound starts at 2 % of the peak of live bytes (the memory rule). When an allocation could have
/// used units that were released shortly before, the bound grows by that object, up to the setting
/// cache:. So a program that allocates temporaries every step gets them without page faults from
/// the second step on. A program that frees for good returns the memory. (glibc's dynamic
/// M_MMAP_THRESHOLD does the same for one size.)
struct UnitCache {
  struct Run {
    uint32_t first, count;
    uint8_t slice; ///< 0: base, 1: super
    /// Committed bytes of base pages in the kept unit behind the last whole one; 0: there is none.
    uint32_t tail_bytes;
    uint32_t units() const { return count + (tail_bytes != 0); }
    uint64_t bytes() const { return uint64_t{count} * kSuperpageBytes + tail_bytes; }
  };
  static constexpr unsigned kRuns = 32;
  Run runs[kRuns] = {};
  unsigned size = 0;
  uint64_t kept_bytes = 0;
  uint64_t missed_bytes = 0; ///< bytes released and not requested again since
  uint64_t proven_bytes = 0; ///< bytes released, and then requested again: a proof for the bound
  /// The most bytes that may be kept without another look at the process' memory. New units for an
  /// object set it to 0.
  uint64_t checked_bytes = 0;
  uint64_t resident_peak = 0; ///< the most memory that these looks have seen
};

class SmallPages;

class BigObjects {
public:
  struct Config {
    uint64_t cache_bytes = 0;
    bool may_demote = true;      ///< under shortage, in favour of objects that gain more
    SmallPages *small = nullptr; ///< the small heap that shares the budget, once it has started
    /// Nullptr: superpages at first touch are never too expensive.
    FirstTouchCost *first_touch = nullptr;
    /// Returns the CPU time of the calling thread. nullptr: collapses are timed by the clock.
    uint64_t (*thread_cpu_ns)() = nullptr;
    /// Returns the CPU time of the process, by which fills are timed. Beside other work on the
    /// processors a fill takes longer by the clock. nullptr: the clock is used.
    uint64_t (*process_cpu_ns)() = nullptr;
    /// Places a range on its NUMA nodes. Returns how many parts got a policy.
    unsigned (*place)(char *start, size_t bytes, numa::Placement placement) = nullptr;
  };
  /// Sets the tables up. False: no memory for the tables. `page_fallback` is initialised and
  /// outlives this object.
  bool init(Region &region, PageFallback &page_fallback, const Config &config);

  /// Allocates a big object. Returns nullptr if there are no units, commit is refused, or the
  /// budget of mappings is used up. REQUIRES: bytes > 0; alignment is a power of two up to 1 GiB.
  void *allocate(const BigRequest &request);
  /// Frees the object at `p`. False: no object starts at `p` (freed twice, or an interior pointer).
  bool release(void *p);
  size_t usable_bytes(const void *p) const;
  /// Returns the request that recreates the live object at `p` with `bytes` bytes: same page kind,
  /// history and placement.
  BigRequest like(const void *p, size_t bytes) const;
  /// True if a live object starts at `p`.
  bool starts_at(const void *p) const;
  /// Resizes in place, or by moving pages. nullptr: neither is possible; the object is unchanged.
  void *resize(void *p, size_t bytes);

  struct Handle {
    Slice slice;
    UnitIndex head;
    BigObject *object;
    explicit operator bool() const { return object != nullptr; }
  };
  /// Returns the live object that contains `p`, or an empty handle.
  Handle find(const void *p);
  /// Acts as find(), for callers that may be signal handlers, whose thread may hold the lock.
  /// Returns an empty handle if the lock is not free soon.
  Handle find_soon(const void *p);
  /// Returns the next pending object in address order, cyclic from `cursor`; an empty handle if
  /// none is pending. For promotion at allocator calls, where the touched object is unknown.
  Handle next_pending(UnitIndex &cursor);

  /// Returns the first object on base pages from this unit on, in address order; an empty handle
  /// behind the last.
  Handle next_object(UnitIndex from);
  /// Makes an object on base pages wait for promotion.
  void make_pending(const Handle &handle);

  /// Adds credit to an object's ledger and collapses its dense units while the credit pays. Stops
  /// when the credit is used up, or `pause_ns` have passed, or nothing is left. `eager`: ignores
  /// the credit. Does nothing, and the credit is lost, while another thread promotes.
  void promote(Handle handle, Price &price, uint64_t credit_ns, uint64_t pause_ns, bool eager);

  /// Acts as promote(). The credit is a part of the program's time: kTimePerCollapseTime, or more
  /// for an object that was filled in no order.
  void promote_by_time(Handle handle, Price &price, uint64_t elapsed_ns, uint64_t pause_ns,
                       bool eager);
  /// True if the last promotion has stopped although the object's credit pays for more.
  bool is_funded() const { return funded_.load(std::memory_order_relaxed); }

  /// Adds `saved_ns` to the object's worth: it was used in a way that its superpages speed up.
  void note_worth(const Handle &handle, uint64_t saved_ns);

  /// Makes room in a used-up budget for a claimant that is no big object and gains
  /// `worth_per_unit`. True: superpages were given up.
  bool make_room_for(uint64_t worth_per_unit, unsigned wanted);

  /// Returns the next object that lost or got superpages after its allocation and is not yet
  /// recorded so in its site's statistics. An empty handle: there is none.
  Handle next_unrecorded();

  /// Updates objects after the program has released pages of them to the kernel. Superpages of
  /// which it released a part count as lost. They are advised against, so that the kernel does not
  /// fill them again. Does nothing if the lock is not free soon: a signal handler may have
  /// interrupted its holder.
  void given_back(const char *start, size_t bytes);
  /// Returns the first transparent superpage of an object at or after position `from`, and moves
  /// `from` behind it. nullptr: none is left.
  char *next_superpage(uint64_t &from);
  bool counts_superpage(const char *unit);

  unsigned pending() const { return pending_.load(std::memory_order_relaxed); }
  /// Returns the number of objects that look_ahead() watches.
  unsigned watched() const { return watched_count_.load(std::memory_order_relaxed); }
  /// True once after the watch of an object has begun.
  bool watch_begun() {
    return watch_begun_.load(std::memory_order_relaxed) &&
           watch_begun_.exchange(false, std::memory_order_relaxed);
  }
  /// Examines the watched objects and gives superpages ahead of their fill. Returns how many parts
  /// of the fastest-filling object have been filled; 0: none fills. `all`: also examines objects
  /// that have not grown for long, which otherwise happens at every kIdleLooks-th call. For the
  /// helper thread. Cost: about 10 us per object that fills, 1 us per other object, and the
  /// collapses.
  unsigned look_ahead(uint64_t (*resident_bytes)(), bool all);
  /// Returns the units given ahead that are not known to be filled.
  unsigned units_ahead() const {
    return static_cast<unsigned>((parts_ahead_ + kUnitParts - 1) / kUnitParts);
  }
  /// Gives superpages to untouched units of the object: the program is about to write `range` bytes
  /// from `p` on (0: all of it). Does nothing while another thread promotes.
  void fill(const Handle &handle, const void *p, size_t range);
  const FillHistory &fills() const { return fills_; }
  /// Releases every kept unit. Returns the bytes.
  size_t trim();
  bool check_invariants();

  /// Releases the address space beyond the objects and beyond the slices' share of `bytes`.
  void shrink(size_t bytes);

  void unlock_promotion() { promotion_lock_.unlock(); }
  bool lock_comes_free() { return lock_.comes_free(); }
  /// For fork: take and release both locks, in the order promotion_lock_, lock_.
  void lock_all();
  void unlock_all();
  /// Calls `visit` for each run of pool pages, in address order, until it returns false.
  /// Precondition: lock_ is held.
  bool for_each_pool_run(bool (*visit)(char *start, size_t bytes, void *data), void *data);
  /// Records, in a forked child, that the pool runs are ordinary memory now. Precondition: lock_ is
  /// held.
  void forget_pools();

private:
  static constexpr unsigned kBase = 0, kSuper = 1;
  /// Mappings of a range that is advised against superpages among memory advised for them: its two
  /// borders.
  static constexpr unsigned kExpensiveMappings = 2;
  static constexpr unsigned kOwnMappings = 2; ///< of an object whose units have one advice
  struct Area {
    Slice slice = Slice::kBigBase;
    UnitMap map;
    BigObject *objects = nullptr; ///< per unit
    /// Per unit: distance to the object's first unit; undefined in units of no object.
    uint32_t *head_of = nullptr;
    /// Bit per unit: is a superpage; written under lock_, read by the promoter without it.
    uint64_t *superpage = nullptr;
  };
  char *address(const Area &a, UnitIndex unit) const {
    return region_->unit_address(a.slice, unit);
  }
  Area &area_of(const void *p) {
    return areas_[region_->slice_of(p) == Slice::kBigSuper ? kSuper : kBase];
  }
  bool is_superpage(const Area &a, UnitIndex unit) const {
    return __atomic_load_n(&a.superpage[unit / 64], __ATOMIC_RELAXED) >> (unit % 64) & 1;
  }
  void set_superpage(Area &a, UnitIndex unit, bool on) {
    uint64_t bit = uint64_t{1} << (unit % 64), &word = a.superpage[unit / 64];
    __atomic_store_n(&word, on ? word | bit : word & ~bit, __ATOMIC_RELAXED);
  }
  /// Returns where the memory of an object that ends at `end` ends. Both are distances from its
  /// first unit.
  static size_t committed_end(size_t end, bool whole_superpages);
  Handle find_locked(const void *p);
  size_t stagger(size_t alignment);
  Handle next_pending_of(Area &a, UnitIndex from, UnitIndex &behind);
  unsigned find_kept(unsigned area_index, UnitIndex whole) const;
  bool has_a_price(const BigRequest &request) const;
  bool is_too_expensive(UnitIndex whole);
  bool touch_at_first_touch(UnitIndex first, UnitIndex whole, UnitIndex &superpages);
  struct Watched {
    BigObject *object; ///< nullptr: the entry is free
    UnitIndex head;
    unsigned area;
    uint8_t idle_looks; ///< consecutive looks without growth, up to a limit
  };
  bool withhold(Area &a, UnitIndex from, UnitIndex to);
  /// Returns the program's CPU time, excluding the calling helper thread's own.
  uint64_t program_ns() const {
    return !config_.process_cpu_ns  ? region_->os().now_ns()
           : !config_.thread_cpu_ns ? config_.process_cpu_ns()
                                    : config_.process_cpu_ns() - config_.thread_cpu_ns();
  }
  bool too_expensive() const { return config_.first_touch && config_.first_touch->too_expensive(); }
  void watch(BigObject &object, UnitIndex head, unsigned area);
  void unwatch(BigObject &object);
  UnitIndex give_ahead(Area &a, UnitIndex head, BigObject &o, UnitIndex from, uint64_t most);
  void join_mappings(Area &a, UnitIndex head, BigObject &o);
  static bool is_filled(unsigned with_data, bool next_begun);
  void forget_ahead(BigObject &object);
  void withdraw(Area &a, UnitIndex head, BigObject &object);
  bool reaches_tail(const Area &a, UnitIndex head, const BigObject &object) const;
  bool fills_in_order(const char *unit, size_t pages) const;
  bool is_passed(const Area &a, UnitIndex head, const BigObject &object, size_t pages) const;
  void compare_with_base(const BigObject &object, uint64_t took_ns);
  unsigned note_filled(Area &a, UnitIndex head, BigObject &object);
  uint64_t may_have(uint64_t own, uint64_t given, uint64_t (*resident_bytes)());
  bool look_at_probe(Area &a, UnitIndex head, BigObject &object, size_t pages, unsigned &grown);
  size_t filled_pages(const Area &a, UnitIndex unit) const;
  UnitIndex front_of_fill(const Area &a, UnitIndex head, const BigObject &object) const;
  void note_standstill(Area &a, UnitIndex head, BigObject &object, unsigned grown);
  UnitIndex give_share(const Watched &watched, UnitIndex front, bool filled,
                       uint64_t (*resident_bytes)());
  void move_probe(BigObject &object, UnitIndex front, UnitIndex given, bool filled);
  void record_fill(Area &a, UnitIndex head, BigObject &object);
  unsigned look_at(const Watched &watched, uint64_t (*resident_bytes)());
  bool ends_filled(const Area &a, UnitIndex head, const BigObject &object) const;
  bool withhold_growth(Area &a, UnitIndex head, BigObject &o, UnitIndex from, UnitIndex to);
  void cut_tail(UnitCache::Run &run, uint32_t bytes);
  UnitIndex take_kept(unsigned area_index, UnitIndex units, UnitIndex whole, uint32_t &tail_bytes);
  UnitIndex take_fresh(Area &a, UnitIndex units, UnitIndex whole, UnitIndex alignment);
  void grow_at_first_touch(Area &a, UnitIndex head, BigObject &o, UnitIndex from, UnitIndex to);
  void release_units(Area &a, UnitIndex first, UnitIndex count, size_t bytes_used, bool keep);
  void drop(Area &a, UnitIndex first, UnitIndex count, size_t bytes_used);
  UnitIndex clear_superpages(Area &a, UnitIndex first, UnitIndex count);
  void evict(unsigned run);
  void evict_oldest() { evict(0); }
  bool evict_superpages(UnitIndex needed);
  void evict_beyond(uint64_t limit);
  void make_room_beside_kept(uint64_t bytes);
  bool is_pristine(const Handle &handle);
  struct Allocation;
  Allocation planned(const BigRequest &request);
  void charge(Allocation &n);
  bool take_units(Allocation &n);
  void back_units(Allocation &n);
  void prepare_first_touch(Allocation &n);
  void enter(const Allocation &n);
  /// True if the object's memory is like all other memory of its slice: no policy, no advice of its
  /// own, no pool pages.
  static bool may_be_kept(const BigObject &o) {
    return o.pooled.units() == 0 && !o.demoted && !o.placed && !o.medium;
  }
  void set_pending(BigObject &object, bool on);
  bool earns_a_look(BigObject &object, uint64_t credit_ns, bool eager);
  int promote_unit(Area &a, UnitIndex unit, BigObject &object, Price &price);
  static void note_looks(BigObject &object, uint32_t looked, uint32_t promoted, bool all_seen);
  bool make_room(const BigObject *claimant, uint64_t claim, unsigned wanted);
  bool take_from_less_worthy(uint32_t worth, UnitIndex wanted);
  unsigned take_superpages_from(Area &a, UnitIndex head, unsigned most);
  void note_live(uint64_t added, uint64_t removed);
  bool commit_behind(Area &a, UnitIndex first, size_t kept_bytes, size_t committed);
  bool prime_medium(Area &a, UnitIndex first, UnitIndex whole);
  bool advise_medium(Area &a, UnitIndex head, size_t from, size_t to);
  bool may_wait(const BigObject &o) const {
    return o.promotable && o.first != PageKind::kMedium && o.superpages < o.whole_units &&
           region_->thp_allowed();
  }
  uint64_t most_kept_of_one() const; ///< limit on the bytes of one freed object
  uint64_t unproven_limit() const;
  uint64_t cache_limit() const;
  bool raises_peak(const Area &a, UnitIndex first, uint64_t bytes);
  bool add_memory(Area &a, UnitIndex head, BigObject &o, size_t before, size_t after);
  void cut_memory(Area &a, UnitIndex head, BigObject &o, size_t before, size_t after);
  void *resize_in_place(Area &a, UnitIndex head, BigObject &o, size_t bytes);
  void *move_to_larger(Area &a, UnitIndex head, size_t bytes);

  Region *region_ = nullptr;
  PageFallback *page_fallback_ = nullptr;
  Config config_;
  Area areas_[2];
  UnitCache cache_;
  SpinLock lock_;           ///< guards tables, maps and cache
  SpinLock promotion_lock_; ///< held while units of an object are collapsed; taken before lock_
  std::atomic<unsigned> pending_{0};
  std::atomic<bool> funded_{false};
  std::atomic<uint32_t> stagger_{0};
  uint64_t aged_ns_ = 0;                ///< when worth was last halved
  std::atomic<bool> unrecorded_{false}; ///< some object is not recorded in the statistics
  FillHistory fills_;
  static constexpr unsigned kMostWatched = 64;
  /// Resident pages from which the program is filling the unit: a collapse would contend with its
  /// page faults.
  static constexpr size_t kBegunPages = 16;
  static constexpr UnitIndex kMostAhead = 64; ///< units given ahead at a time
  /// Consecutive looks without growth after which a freed object counts as sparse.
  static constexpr uint8_t kStillLooks = 3;
  Watched watched_[kMostWatched] = {};
  std::atomic<unsigned> watched_count_{0};
  std::atomic<bool> watch_begun_{false};
  uint64_t parts_ahead_ = 0; ///< parts given ahead and not known to be filled
  uint64_t window_ = 0;      ///< parts that may be given ahead; 0: not computed yet in this look
  unsigned looks_ = 0;       ///< calls of look_ahead()
  unsigned filling_ = 0;     ///< objects that had grown at the last look
};

} // namespace smalloc
#endif
