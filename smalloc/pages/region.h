// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// region.h divides one reserved range of the address space among the kinds of libsmalloc's memory.
// One compare tests if a pointer is in the range. Inside are fixed slices, so that a few more
// compares find the owner. Each slice keeps one page-size advice for life: changing the advice of
// each superpage would make each a mapping. At 65,530 mappings the program's own mmap fails. The
// region also accounts for superpages against the budget, and for mappings against 1/8 of the
// system's limit.
#ifndef SMALLOC_PAGES_REGION_H
#define SMALLOC_PAGES_REGION_H

#include "smalloc/base/units.h"
#include "smalloc/os/os_hooks.h"
#include "smalloc/pages/budget.h"
#include "smalloc/pages/counters.h"

#include <atomic>

namespace smalloc {

enum class Slice : uint8_t {
  kTables,    ///< libsmalloc's own tables
  kMeta,      ///< the private jemalloc's metadata, and objects of threads that are bound to no heap
  kSmallBase, ///< small objects on base pages, promotable
  kSmallSuper, ///< small objects on superpages at first touch
  kClass,      ///< small objects of undecided sites: the class heap
  kNode,       ///< small objects whose sites name their nodes, on base pages, promotable
  kBigBase,    ///< objects of one superpage and more that start on base pages, promotable
  kBigSuper,   ///< objects of one superpage and more on superpages at first touch
};
inline constexpr unsigned kSlices = 8;
/// Readable bytes after every object. The C library's malloc and others end objects before the last
/// mapped byte. Programs that read an element past the end run with them and must run here.
inline constexpr size_t kSlackBytes = kBasePageBytes;

class Region {
public:
  struct Config {
    const OsHooks *os = nullptr;
    size_t bytes = 0;
    ThpMode thp = ThpMode::kMadvise;
    bool superpages_allowed = true; ///< false: pages:base, or an administrator's THP=never
    bool thp_allowed = true;        ///< false: superpages come from a pool only, without advice or
                                    ///< collapse
    bool medium_advice = false; ///< slices with superpages at first touch are advised for pages of
                                ///< 64 KiB instead
    Budget::Config budget;
    uint64_t charged_before = 0;    ///< superpages that were charged to the budget before
    uint64_t mapping_limit = 65530; ///< the system's limit
    unsigned *pending = nullptr;    ///< counts objects that wait for promotion (site.h); may be
                                    ///< nullptr
    /// Set to 0 when an object begins to wait; may be nullptr.
    std::atomic<size_t> *passes_below = nullptr;
  };
  /// Reserves the range. Returns false if the address space is not available; nothing has changed
  /// then.
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
  /// Returns the slice that contains `p`. REQUIRES: contains(p).
  Slice slice_of(const void *p) const;
  char *unit_address(Slice s, UnitIndex unit) const {
    return reinterpret_cast<char *>(slice_start(s) + size_t{unit} * kSuperpageBytes);
  }
  UnitIndex unit_of(Slice s, const void *p) const {
    return static_cast<UnitIndex>((reinterpret_cast<uintptr_t>(p) - slice_start(s)) /
                                  kSuperpageBytes);
  }

  /// Returns zeroed, committed memory for a table of libsmalloc; nullptr if the system refuses. It
  /// is never released.
  void *table(size_t bytes);
  /// Returns the next `bytes` of a slice that only grows, committed and zero. `bytes` is a multiple
  /// of a base page; whole units are used up. For objects, kSlackBytes after them are committed as
  /// well. Returns nullptr if the slice is full or the commit was refused.
  char *grow(Slice s, size_t bytes, size_t alignment = kSuperpageBytes);
  /// Returns the units of a growing slice handed out so far.
  UnitIndex grown_units(Slice s) const {
    return static_cast<UnitIndex>((cursor_[static_cast<unsigned>(s)].load() & ~kFrozen) /
                                  kSuperpageBytes);
  }

  /// Returns the bytes that this slice would have in a range of `bytes` bytes: whole units.
  static size_t share_of(Slice s, size_t bytes);
  /// Releases the address space of a growing slice beyond both its share of `bytes` and what has
  /// been handed out. The slice grows no further than that. While this runs, grow() fails. One
  /// thread at a time.
  void shrink(Slice s, size_t bytes);
  /// Shrinks a slice of big objects likewise and keeps the first `units`. REQUIRES: the others are
  /// free and stay so.
  void keep_units(Slice s, UnitIndex units);
  /// True if `p` lies in released address space, where any memory of the process may be now.
  /// REQUIRES: contains(p).
  bool went_back(const void *p) const {
    return reinterpret_cast<uintptr_t>(p) >=
           kept_end_[static_cast<unsigned>(slice_of(p))].load(std::memory_order_relaxed);
  }
  /// Sets the slice's advice before its first memory is handed out. Idempotent.
  void advise_slice(Slice s);
  /// Returns the errno value of refused advice for superpages at first touch; 0: not refused.
  int advice_error() const { return advice_error_.load(std::memory_order_relaxed); }

  /// Restores a committed range of a slice to its first state: reserved, empty, with the slice's
  /// advice.
  void decommit(Slice s, char *start, size_t bytes);
  /// Gives a new mapping in a slice (after hugetlb refused) the slice's advice. Returns 0 or an
  /// errno value.
  int advise_range(Slice s, void *start, size_t bytes);

  /// True if some superpage is available, transparent or of a pool.
  bool superpages_allowed() const { return config_.superpages_allowed; }
  /// True if slices of first touch are advised for 64 KiB pages.
  bool medium_advice() const { return config_.medium_advice && advice_error() == 0; }
  /// True if transparent superpages are available: at first touch and by promotion.
  bool thp_allowed() const { return config_.thp_allowed && config_.superpages_allowed; }
  /// Takes `n` superpages out of the budget. Returns false over the budget, and sets `why`.
  /// `fresh`: for memory that the process does not have yet.
  bool charge_superpages(uint64_t n, bool fresh = true, WhyNot *why = nullptr);
  /// Charges superpages that the process has already, whatever the budget is.
  void charge_unasked(uint64_t n) { charged_superpages_.add(n); }
  /// Returns charged superpages that did not come about.
  void uncharge_superpages(uint64_t n) { charged_superpages_.sub(n); }
  /// Counts charged superpages that the memory has now, or will have once it is touched.
  void got_superpages(uint64_t n);
  /// Counts superpages whose memory was dropped but will have them again once touched. The charge
  /// stays.
  void emptied_superpages(uint64_t n) { counters_->superpages_now.sub(n); }
  /// Counts superpages that are gone, and returns their charge.
  void lost_superpages(uint64_t n);
  uint64_t charged_superpages() const { return charged_superpages_.get(); }
  /// Returns the superpages that the budget allows beside the charged ones. Reads files if a cgroup
  /// has a limit.
  uint64_t superpages_left() const { return budget_.superpages_left(charged_superpages()); }
  /// True if the budget has refused a superpage: owners of superpages must then show that they pay.
  bool short_of_superpages() const { return short_.load(std::memory_order_relaxed); }
  bool charge_mappings(uint64_t n);
  /// Counts `n` more (or fewer) objects that wait for promotion.
  void add_pending(int n) {
    if (config_.pending)
      __atomic_fetch_add(config_.pending, static_cast<unsigned>(n), __ATOMIC_SEQ_CST);
    if (n > 0 && config_.passes_below)
      config_.passes_below->store(0);
  }
  void uncharge_mappings(uint64_t n) { counters_->mappings.sub(n); }

  /// Collapses one unit in place: of an unadvised slice, or of a big object that is advised against
  /// superpages. In the second case, and under THP=always, it costs a mapping, which the caller
  /// uncharges when it releases the unit. Returns 0 or an errno value, which it counts by reason;
  /// ENOSPC, not counted: the budget has no room, or there are no transparent superpages. Charges
  /// the budget on success. `duration_ns`: time taken, with or without success.
  int promote(char *unit, uint64_t &duration_ns);
  /// Turns a superpage into base pages in place; its contents stay. Returns false if no mapping is
  /// left for the advice that keeps the kernel from collapsing it again. A unit with a superpage at
  /// first touch then costs a mapping, which the caller uncharges when it releases the unit.
  /// `idle_page`: a page of the unit whose contents may be lost, or nullptr (OsHooks::split).
  bool demote(char *unit, char *idle_page = nullptr);
  /// Undoes the advice of promote() for `promoted` units in this range of an unadvised slice, whose
  /// contents are gone. Uncharges them.
  void demoted(char *start, size_t bytes, uint64_t promoted);

private:
  Config config_;
  Counters *counters_ = nullptr;
  uintptr_t start_ = 0;
  size_t bytes_ = 0;
  uintptr_t slice_start_[kSlices + 1] = {};
  /// Flag in a cursor: the slice is about to shrink.
  static constexpr size_t kFrozen = size_t{1} << 63;
  void give_back(Slice s, uintptr_t kept_end);

  std::atomic<size_t> cursor_[kSlices] = {};
  std::atomic<size_t> capacity_[kSlices] = {}; ///< of growing slices: the end of the cursor's range
  std::atomic<uintptr_t> kept_end_[kSlices] = {};
  std::atomic<bool> advised_[kSlices] = {};
  std::atomic<int> advice_error_{0};
  std::atomic<bool> short_{false};
  Counter charged_superpages_; ///< present, or about to be
  Budget budget_;
};

} // namespace smalloc
#endif
