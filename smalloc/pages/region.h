// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// region.h decides where in the address space each kind of our memory lies. One reserved range, so
// that "is it ours?" is one compare; inside, fixed slices, so that "whose is it?" is another and
// each slice has one page-size advice for life: flipping advice per superpage would make a mapping
// each, and at 65,530 of them the program's own mmap fails. Also the account of superpages against
// the budget, and of mappings against 1/8 of the system's limit.
#ifndef SMALLOC_PAGES_REGION_H
#define SMALLOC_PAGES_REGION_H

#include "smalloc/base/units.h"
#include "smalloc/os/os_hooks.h"
#include "smalloc/pages/budget.h"
#include "smalloc/pages/counters.h"

#include <atomic>

namespace smalloc {

enum class Slice : uint8_t {
  kTables,    ///< our own tables
  kMeta,      ///< the private jemalloc's metadata, and objects of threads that are bound to no heap
  kSmallBase, ///< small objects on base pages, promotable
  kSmallSuper, ///< small objects on superpages at first touch
  kClass,      ///< small objects of undecided sites: the class heap
  kNode,       ///< small objects whose sites name their nodes, on base pages, promotable
  kBigBase,    ///< objects of one superpage and more that start on base pages, promotable
  kBigSuper,   ///< objects of one superpage and more that have superpages at first touch
};
inline constexpr unsigned kSlices = 8;
/// Readable bytes behind every object. Programs that read an element past the end run with the C
/// library's malloc and with others, whose objects end before the last mapped byte.
inline constexpr size_t kSlackBytes = kBasePageBytes;

class Region {
public:
  struct Config {
    const OsHooks *os = nullptr;
    size_t bytes = 0;
    ThpMode thp = ThpMode::kMadvise;
    bool superpages_allowed = true; ///< false: pages:base, or an administrator's THP=never
    bool thp_allowed = true;    ///< false: superpages come from a pool only: no advice, no collapse
    bool medium_advice = false; ///< memory of birth is advised for pages of 64 KiB instead
    Budget::Config budget;
    uint64_t charged_before = 0;    ///< superpages that the budget has had to give already
    uint64_t mapping_limit = 65530; ///< the system's
    unsigned *pending = nullptr;    ///< counts what waits for promotion (site.h); may be nullptr
    /// Set to 0 when something begins to wait; may be nullptr.
    std::atomic<size_t> *passes_below = nullptr;
  };
  /// False: the address space is not to be had, and nothing has changed.
  bool init(const Config &config, Counters &counters);

  const OsHooks &os() const { return *config_.os; }
  Counters &counters() const { return *counters_; }
  uintptr_t start() const { return start_; }
  size_t bytes() const { return bytes_; }
  bool contains(const void *p) const { return reinterpret_cast<uintptr_t>(p) - start_ < bytes_; }
  uintptr_t slice_start(Slice s) const { return slice_start_[static_cast<unsigned>(s)]; }
  uintptr_t slice_end(Slice s) const { return slice_start_[static_cast<unsigned>(s) + 1]; }
  UnitIndex slice_units(Slice s) const {
    return static_cast<UnitIndex>((slice_end(s) - slice_start(s)) / kSuperpageBytes);
  }
  /// REQUIRES: contains(p).
  Slice slice_of(const void *p) const;
  char *unit_address(Slice s, UnitIndex unit) const {
    return reinterpret_cast<char *>(slice_start(s) + size_t{unit} * kSuperpageBytes);
  }
  UnitIndex unit_of(Slice s, const void *p) const {
    return static_cast<UnitIndex>((reinterpret_cast<uintptr_t>(p) - slice_start(s)) /
                                  kSuperpageBytes);
  }

  /// Zeroed, committed memory of ours for a table; nullptr when the system refuses. Never given
  /// back.
  void *table(size_t bytes);
  /// The next `bytes` (any multiple of a base page, whole units are used up) of a slice that only
  /// grows, committed and zero; kSlackBytes behind those for objects are committed as well. nullptr:
  /// slice full or commit refused.
  char *grow(Slice s, size_t bytes, size_t alignment = kSuperpageBytes);
  /// Units of a growing slice handed out so far.
  UnitIndex grown_units(Slice s) const {
    return static_cast<UnitIndex>((cursor_[static_cast<unsigned>(s)].load() & ~kFrozen) /
                                  kSuperpageBytes);
  }

  /// What a range of so many bytes would have for this slice: whole units.
  static size_t share_of(Slice s, size_t bytes);
  /// Gives back the address space of a slice that only grows beyond what has been handed out, and beyond its share of `bytes`. It
  /// grows no further than that; while this runs, grow() fails. One thread at a time.
  void shrink(Slice s, size_t bytes);
  /// The same for a slice of big objects, of which the first `units` stay. REQUIRES: the others are free and stay so.
  void keep_units(Slice s, UnitIndex units);
  /// In address space of ours that went back. Anybody's memory may be there now. REQUIRES: contains(p).
  bool went_back(const void *p) const {
    return reinterpret_cast<uintptr_t>(p) >=
           kept_end_[static_cast<unsigned>(slice_of(p))].load(std::memory_order_relaxed);
  }
  /// Gives the slice its advice before its first memory is handed out. Idempotent.
  void advise_slice(Slice s);
  /// Superpages at first touch were asked for and the kernel refused the advice: an errno value; 0: no.
  int advice_error() const { return advice_error_.load(std::memory_order_relaxed); }

  /// Makes a committed range of a slice what it was before: reserved, empty, with the slice's
  /// advice.
  void decommit(Slice s, char *start, size_t bytes);
  /// A new mapping in a slice (hugetlb refused) gets the slice's advice. Returns 0 or an errno
  /// value.
  int advise_range(Slice s, void *start, size_t bytes);

  /// Some superpage may be had: transparent or of a pool.
  bool superpages_allowed() const { return config_.superpages_allowed; }
  /// Transparent ones: at first touch and by promotion.
  bool medium_advice() const { return config_.medium_advice && advice_error() == 0; }
  bool thp_allowed() const { return config_.thp_allowed && config_.superpages_allowed; }
  /// Takes n superpages out of the budget; false: over it, and why. fresh: for memory that the
  /// process has not got yet.
  bool charge_superpages(uint64_t n, bool fresh = true, WhyNot *why = nullptr);
  /// What the process has already, whatever the budget says.
  void charge_unasked(uint64_t n) { charged_superpages_.add(n); }
  /// Charged ones that did not come about.
  void uncharge_superpages(uint64_t n) { charged_superpages_.sub(n); }
  /// Charged ones that the memory has from now on, or will have once it is touched.
  void got_superpages(uint64_t n);
  /// What was got is gone, but will be there again once its memory is touched: the charge stays.
  void emptied_superpages(uint64_t n) { counters_->superpages_now.sub(n); }
  /// What was got is gone, and the charge with it.
  void lost_superpages(uint64_t n);
  uint64_t charged_superpages() const { return charged_superpages_.get(); }
  /// That the budget allows beside those that are charged. Reads files where a cgroup has a limit.
  uint64_t superpages_left() const { return budget_.superpages_left(charged_superpages()); }
  /// The budget has refused something: who has superpages must show that they pay.
  bool short_of_superpages() const { return short_.load(std::memory_order_relaxed); }
  bool charge_mappings(uint64_t n);
  /// Something more (+1) or less (-1) waits for promotion.
  void add_pending(int n) {
    if (config_.pending)
      __atomic_fetch_add(config_.pending, static_cast<unsigned>(n), __ATOMIC_SEQ_CST);
    if (n > 0 && config_.passes_below)
      config_.passes_below->store(0);
  }
  void uncharge_mappings(uint64_t n) { counters_->mappings.sub(n); }

  /// Collapses one unit in place: of an unadvised slice, or one of a big object that is advised against superpages; of those each
  /// costs a mapping, which the caller uncharges when it gives the unit back. Returns 0 or an errno value, counted by
  /// reason; the budget is charged on success. duration_ns: what it took, whether it worked or not.
  int promote(char *unit, uint64_t &duration_ns);
  /// Makes base pages of a superpage in place; its contents stay. False: no mapping is left for the
  /// advice that keeps the kernel from making it one again. A unit that had its superpage at first touch
  /// costs a mapping from now on, which the caller uncharges when it gives the unit back.
  /// idle_page: a page of the unit whose contents may be lost, or nullptr (OsHooks::split).
  bool demote(char *unit, char *idle_page = nullptr);
  /// Undoes what promote() did to the advice of `promoted` units in this range of an unadvised
  /// slice, whose contents are gone; uncharges them.
  void demoted(char *start, size_t bytes, uint64_t promoted);

private:
  Config config_;
  Counters *counters_ = nullptr;
  uintptr_t start_ = 0;
  size_t bytes_ = 0;
  uintptr_t slice_start_[kSlices + 1] = {};
  /// In a cursor: the slice is about to shrink.
  static constexpr size_t kFrozen = size_t{1} << 63;
  void give_back(Slice s, uintptr_t kept_end);

  std::atomic<size_t> cursor_[kSlices] = {};
  std::atomic<size_t> capacity_[kSlices] = {}; ///< of slices that grow: how far a cursor goes
  std::atomic<uintptr_t> kept_end_[kSlices] = {};
  std::atomic<bool> advised_[kSlices] = {};
  std::atomic<int> advice_error_{0};
  std::atomic<bool> short_{false};
  Counter charged_superpages_; ///< there, or about to be
  Budget budget_;
};

} // namespace smalloc
#endif
