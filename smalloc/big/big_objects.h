// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// big_objects.h decides how objects of one superpage and more are laid out: whole units out of a
// slice, a start that is staggered by cache lines and pages, a tail of base pages behind the last
// whole superpage, and metadata in tables indexed by unit (size of any object: O(1), also from a
// pointer into its middle). Freed units are kept for the next object only as far as the program has
// shown that it comes back for them.
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
  uint64_t bytes; ///< committed, from the object's address on
  Ledger ledger;  ///< promotion credit
  uint64_t
      worth_ns; ///< what superpages have saved it, or would have; halves every second under shortage
  uint32_t units;       ///< 0: no object starts here
  uint32_t offset;      ///< of the object's address in its first unit
  uint32_t whole_units; ///< those that are or may become superpages
  uint32_t superpages;  ///< those that are
  uint32_t next_unit;   ///< where the promoter goes on
  uint16_t pause;       ///< promotion attempts to skip: doubles while the object stays sparse
  uint16_t skipped;
  PageFallback::Pooled pooled;   ///< units from the front that are pages of a pool
  bool pending;                  ///< waits for promotion
  uint8_t fruitless;             ///< rounds without a promotion
  uint32_t looks = 0, finds = 0; ///< at units and dense ones among them, in this round
  bool refused = false;          ///< the last round ended because the kernel would not collapse
  bool placed = false;  ///< has policies of its own: nothing of it is kept for the next object
  bool demoted = false; ///< some unit's superpage at first touch was taken away, or was too dear
  bool medium = false;  ///< has advice of its own for pages of 64 KiB
  bool untold =
      false; ///< superpages that it lost or got after its birth are not in its site's statistics
  bool promotable = true; ///< as BigRequest, as are the next four: what a copy of it begins with
  bool whole_superpages = false;
  PageKind first = PageKind::kSuperpage;
  uint32_t profile_worth = 0;
  numa::Placement placement;
  uint32_t mappings;        ///< charged
  uint64_t history = 0;     ///< its key in FillHistory; 0: none
  bool watched = false;     ///< look_ahead() sees whether it is filled (big_ahead.cpp)
  uint8_t still_looks = 0;  ///< looks in a row that found nothing new in it
  bool shows_data = false;  ///< a unit given ahead was seen to hold the program's data
  uint16_t probe_pages = 0; ///< resident ones of the probe at the last look
  uint32_t probe = 0;       ///< the unit on base pages that shows how far it is filled
  uint64_t given_ns = 0;    ///< when the units in front of the probe were given; 0: none were
  uint64_t begun_ns =
      0; ///< when the program reached the probe; 0: it has not, or before the first look
  uint16_t begun_pages = 0; ///< resident ones of the probe at begun_ns
  uint64_t filled_ns = 0;   ///< when the last unit in front of the probe was seen to be filled
  uint64_t still_ns = 0; ///< since when what was given ahead has not been filled further; 0: it was
  bool stale = false;    ///< for so long that it was withdrawn, as far as it was untouched
  uint64_t base_ns = 0;  ///< what a unit of the object takes to fill on base pages
  uint32_t ahead_units = 0;  ///< advised in front of the probe and not known to be filled
  uint16_t ahead_filled = 0; ///< parts of them that hold data

  /// Without the slack, which stays ours: is_pristine() relies on it.
  uint64_t usable_bytes() const { return bytes - kSlackBytes; }
};

struct BigRequest {
  size_t bytes = 0;
  size_t alignment = 16;
  bool superpages_at_first_touch =
      false;             ///< every byte will be written (proved), or somebody insists
  bool if_cheap = false; ///< that, where the first touch of superpages is not dear: nobody insists
  bool written = false;  ///< every byte will be (proved)
  bool ahead = false;    ///< superpages ahead of the program's first touches (big_ahead.cpp)
  uint64_t history = 0;  ///< key in FillHistory; 0: none
  bool promotable = true;
  bool zero = false;
  bool whole_superpages = false; ///< no tail on base pages: the last superpage is taken too
  /// What a directive names: kGigantic, with superpages_at_first_touch; kMedium, which rules superpages out, now and later; kSuperpage:
  /// nothing beyond the user's first step.
  PageKind first = PageKind::kSuperpage;
  /// As smalloc_site::worth: under a budget it takes the superpages of objects that are worth less.
  uint32_t profile_worth = 0;
  numa::Placement placement;
};

/// Bounded keep of freed units, in bytes of address space that stay resident. The bound starts at 2
/// % of the peak of live bytes (the memory rule); each time an object is allocated that units
/// released shortly before would have served, it grows by that object, up to `cache:`. So programs
/// that allocate temporaries every step get theirs back without a fault from the second step on,
/// and one that frees for good gives back. (glibc's dynamic M_MMAP_THRESHOLD does the same on one
/// size.)
struct UnitCache {
  struct Run {
    uint32_t first, count;
    uint8_t slice; ///< 0: base, 1: super
    /// Committed bytes of base pages in the unit behind the last, which is kept, too; 0: none is.
    uint32_t tail_bytes;
    uint32_t units() const { return count + (tail_bytes != 0); }
    uint64_t bytes() const { return uint64_t{count} * kSuperpageBytes + tail_bytes; }
  };
  static constexpr unsigned kRuns = 32;
  Run runs[kRuns] = {};
  unsigned size = 0;
  uint64_t kept_bytes = 0;
  uint64_t regret_bytes = 0; ///< released and not asked for since
  uint64_t proven_bytes = 0; ///< by regret
};

class SmallPages;

class BigObjects {
public:
  struct Config {
    uint64_t cache_bytes = 0;
    bool may_demote = true;                ///< under shortage, in favour of objects that gain more
    SmallPages *small = nullptr;           ///< the heap that shares the budget, once it has started
    FirstTouchCost *first_touch = nullptr; ///< nullptr: superpages at first touch are never dear
    /// Processor time of the calling thread; nullptr: collapses are timed by the clock.
    uint64_t (*thread_cpu_ns)() = nullptr;
    /// Processor time of the process, by which fills are timed: beside other work on the processors a
    /// fill takes longer by the clock. nullptr: the clock.
    uint64_t (*process_cpu_ns)() = nullptr;
    /// Gives a range its nodes; returns how many parts got some.
    unsigned (*place)(char *start, size_t bytes, numa::Placement placement) = nullptr;
  };
  /// False: tables are not to be had. The ladder is initialised and outlives this.
  bool init(Region &region, PageFallback &ladder, const Config &config);

  /// nullptr: no units, commit refused, or the budget of mappings is used up. REQUIRES: bytes > 0,
  /// alignment is a power of two up to 1 GiB.
  void *allocate(const BigRequest &request);
  /// False: p is no start of an object (freed twice, or an interior pointer).
  bool release(void *p);
  size_t usable_bytes(const void *p) const;
  /// What an object of so many bytes begins with that takes the place of the live one at p: as the one was asked for.
  BigRequest like(const void *p, size_t bytes) const;
  /// A live object starts at p.
  bool starts_at(const void *p) const;
  /// Resizes in place, or by moving pages; nullptr: neither is possible, the object is as it was.
  void *resize(void *p, size_t bytes);

  struct Handle {
    Slice slice;
    UnitIndex head;
    BigObject *object;
    explicit operator bool() const { return object != nullptr; }
  };
  /// The object that contains p; none when p lies in no live object.
  Handle find(const void *p);
  /// The same for who may be a signal handler, whose thread may be inside: none when that takes too long.
  Handle find_soon(const void *p);
  /// The next pending object in address order, cyclic from `cursor`; none when nothing is pending.
  /// For promotion at allocator calls, when nobody says what is being touched.
  Handle next_pending(UnitIndex &cursor);

  /// The first object on base pages from this unit on, in address order; none behind the last.
  Handle next_object(UnitIndex from);
  /// An object that was to stay on base pages waits for promotion from now on.
  void make_pending(const Handle &handle);

  /// Adds credit to an object's ledger and makes superpages out of its dense units while it pays.
  /// Stops when the credit is used up, or `pause_ns` have passed, or nothing is left. eager: credit
  /// does not matter. Does nothing (the credit is lost) while another thread promotes.
  void promote(Handle handle, Price &price, uint64_t credit_ns, uint64_t pause_ns, bool eager);

  /// An object that has its superpages was used in a way that they speed up.
  void note_worth(const Handle &handle, uint64_t saved_ns);

  /// The budget is used up, and somebody who is no big object would gain so much a unit. True: room
  /// has been made.
  bool make_room_for(uint64_t worth_per_unit, unsigned wanted);

  /// The next object that lost or got superpages after its birth and whose site's statistics do not count that
  /// yet. An empty handle: no such object.
  Handle next_unrecorded();

  /// The program has given pages of an object back to the system itself. Superpages of which it gave a part
  /// are none any more: they are advised against, so that the system does not fill them again. Does nothing
  /// where a signal handler may have interrupted who is inside.
  void given_back(const char *start, size_t bytes);
  /// The first transparent superpage of an object from `from` on, and what to ask for next; nullptr: none is left.
  char *next_superpage(uint64_t &from);
  bool counts_superpage(const char *unit);

  unsigned pending() const { return pending_.load(std::memory_order_relaxed); }
  /// Objects that look_ahead() watches.
  unsigned watched() const { return watched_count_.load(std::memory_order_relaxed); }
  /// True once after an object began to be watched.
  bool watch_begun() {
    return watch_begun_.load(std::memory_order_relaxed) &&
           watch_begun_.exchange(false, std::memory_order_relaxed);
  }
  /// Looks at the watched objects and gives superpages ahead of their fill. Returns how many parts that one of
  /// them has been filled by which fills fastest; 0: none fills. all: also those that have not grown for long, which is else asked now and
  /// then. For the helper thread. Cost: about 10 us an object that fills, 1 us another, and the collapses.
  unsigned look_ahead(uint64_t (*resident_bytes)(), bool all);
  /// Units in front of the fills that are not known to be filled.
  unsigned units_ahead() const {
    return static_cast<unsigned>((parts_ahead_ + kUnitParts - 1) / kUnitParts);
  }
  /// The program is about to write `range` bytes from p on, in the object (0: all of it): its untouched
  /// units there get superpages. Does nothing while another thread promotes.
  void fill(const Handle &handle, const void *p, size_t range);
  const FillHistory &fills() const { return fills_; }
  /// Gives every kept unit back. Returns bytes.
  size_t trim();
  bool check_invariants();

  /// For fork: takes and frees both locks in the order promotion, table.
  /// Gives back the address space beyond what objects take, and beyond its share of so many bytes.
  void shrink(size_t bytes);

  void unlock_promotion() { promotion_lock_.unlock(); }
  bool lock_comes_free() { return lock_.comes_free(); }
  void lock_all();
  void unlock_all();
  /// Locked. Calls visit for each run of pool pages, in address order, until it says false.
  bool for_each_pool_run(bool (*visit)(char *start, size_t bytes, void *data), void *data);
  /// Locked, in a forked child: its runs are ordinary memory now.
  void forget_pools();

private:
  static constexpr unsigned kBase = 0, kSuper = 1;
  /// The borders of what is advised against superpages among memory that is advised for them.
  static constexpr unsigned kExpensiveMappings = 2;
  static constexpr unsigned kOwnMappings = 2; ///< of an object whose units have one advice
  struct Area {
    Slice slice = Slice::kBigBase;
    UnitMap map;
    BigObject *objects = nullptr; ///< by unit
    uint32_t *head_of = nullptr;  ///< by unit: distance to the head; garbage in units of no object
    uint64_t *superpage =
        nullptr; ///< by unit: is one; changed locked, read by the promoter without
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
  /// Where the memory of an object that ends there ends; both are distances from its first unit.
  static size_t committed_end(size_t end, bool whole_superpages);
  Handle find_locked(const void *p);
  size_t stagger(size_t alignment);
  Handle next_pending_of(Area &a, UnitIndex from, UnitIndex &behind);
  unsigned find_kept(unsigned area_index, UnitIndex whole) const;
  bool has_a_price(const BigRequest &request) const;
  bool is_too_expensive(UnitIndex whole);
  bool touch_at_first_touch(UnitIndex first, UnitIndex whole, UnitIndex &superpages);
  struct Watched {
    BigObject *object; ///< nullptr: the place is free
    UnitIndex head;
    unsigned area;
    uint8_t idle_looks; ///< in a row, up to a limit
  };
  bool withhold(Area &a, UnitIndex from, UnitIndex to);
  /// For the helper thread, whose own time does not count.
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
  /// Its memory is like any other's of the slice: no policy, no advice of its own, no pages of a pool.
  static bool may_be_kept(const BigObject &o) {
    return o.pooled.units() == 0 && !o.demoted && !o.placed && !o.medium;
  }
  void set_pending(BigObject &object, bool on);
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
  uint64_t most_kept_of_one() const; ///< bytes of a freed object
  uint64_t cache_limit() const;
  void *resize_in_place(Area &a, UnitIndex head, BigObject &o, size_t bytes);
  void *move_to_larger(Area &a, UnitIndex head, size_t bytes);

  Region *region_ = nullptr;
  PageFallback *page_fallback_ = nullptr;
  Config config_;
  Area areas_[2];
  UnitCache cache_;
  SpinLock lock_;           ///< tables, maps, cache
  SpinLock promotion_lock_; ///< held while an object's units are collapsed; taken before lock_
  std::atomic<unsigned> pending_{0};
  std::atomic<uint32_t> stagger_{0};
  uint64_t aged_ns_ = 0;                ///< when worth was last halved
  std::atomic<bool> unrecorded_{false}; ///< some object is
  FillHistory fills_;
  static constexpr unsigned kMostWatched = 64;
  /// Looks without anything new after which a freed object counts as sparse.
  static constexpr uint8_t kStillLooks = 3;
  Watched watched_[kMostWatched] = {};
  std::atomic<unsigned> watched_count_{0};
  std::atomic<bool> watch_begun_{false};
  uint64_t parts_ahead_ = 0; ///< given ahead and not known to be filled
  uint64_t window_ = 0;      ///< what may be given ahead, parts; 0: not asked yet in this look
  unsigned looks_ = 0;       ///< of look_ahead()
  unsigned filling_ = 0;     ///< objects that had grown at the last look
};

} // namespace smalloc
#endif
