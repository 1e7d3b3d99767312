// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// small_pages.cpp releases the pages of a small heap to the kernel, and collapses its units.
// decommit() always reports success to jemalloc, so each reuse calls commit(). Thus the used pages
// of a unit are known exactly, without a system call. The price is a memset for pages that are
// reused inside a kept superpage.
#include "smalloc/small/small_pages.h"

#include <errno.h>
#include <string.h>

namespace smalloc {
namespace {
/// Each unit that the heap grows beyond the reach earns half a collapse. That is the break-even of
/// two visits per cache line at a short page walk: 2 MiB / 64 B x 2 x 35 cycles = 0.76 ms at 3 GHz.
/// It is an estimate; touching() and time add to it.
constexpr uint64_t kGrowthCreditNs = Ledger::kStartPriceNs / 2;
/// Used pages from which a unit takes hardly any further object: large size classes leave gaps at
/// its end.
constexpr size_t kFullPages = kPagesPerUnit - kPagesPerUnit / 8;
} // namespace

bool SmallPages::init(Region &region, const Config &config) {
  region_ = &region;
  config_ = config;
  area_count_ = config.has_super ? 2 : 1;
  areas_[0].slice = config.base;
  areas_[1].slice = Slice::kSmallSuper;
  UnitIndex ranked = 0;
  for (unsigned i = 0; i < area_count_; i++) {
    areas_[i].count = region.slice_units(areas_[i].slice);
    areas_[i].units = static_cast<Unit *>(region.table(areas_[i].count * sizeof(Unit)));
    if (!areas_[i].units)
      return false;
    areas_[i].rank_base = ranked;
    ranked += areas_[i].count;
  }
  auto *links =
      static_cast<UnitRanking::Links *>(region.table(ranked * sizeof(UnitRanking::Links)));
  if (!links)
    return false;
  ranking_.init(links);
  last_time_ns_ = region.os().now_ns();
  return true;
}

bool SmallPages::covers(const char *p) const {
  auto at = reinterpret_cast<uintptr_t>(p);
  for (unsigned i = 0; i < area_count_; i++)
    if (at >= region_->slice_start(areas_[i].slice) && at < region_->slice_end(areas_[i].slice))
      return true;
  return false;
}

void SmallPages::lower_reach(uint64_t bytes) {
  uint64_t seen = reach_bytes_.load(std::memory_order_relaxed);
  while (bytes < seen &&
         !reach_bytes_.compare_exchange_weak(seen, bytes, std::memory_order_relaxed)) {
  }
}

/// True if the program touches the units that it fills. Programs may use only a part of objects of
/// several pages (buffers, stacks). A unit on base pages shows this by its residency, a superpage
/// by its contents. The last kProbes full units are examined. The newest one is skipped if a third
/// of it is untouched at most: each size class has begun a slab there. If superpages look empty,
/// they may hold zeros: then this growth gets base pages, as a probe. If the program fills the
/// probe, the superpages did hold zeros, and later growths are probes by number only. A program may
/// also request all rows of a matrix before it fills the first. If it had touched what it freed
/// before, units without any touch are taken for such rows.
bool SmallPages::grows_dense(size_t units) {
  const unsigned growth = ++growths_;
  const unsigned first = units == 1 ? kProbeEvery : kProbeEvery * kProbeEvery;
  const bool by_number = config_.probes_double ? growth >= first && is_power_of_two(growth)
                                               : growth % kProbeEvery == 0;
  const bool frees_dense = frees_dense_.load(std::memory_order_relaxed);
  const Area &base = areas_[0];
  unsigned seen = 0, untouched = 0;
  bool skipped = false;
  for (UnitIndex index = region_->grown_units(base.slice);
       index-- > 0 && seen < kProbes && untouched < kMostUntouched;) {
    const FullUnit unit = full_unit(base, index);
    if (!unit.used)
      continue;
    const size_t resident = unit.superpage ? unit.used : resident_pages_of(base, index);
    if (resident == 0)
      begin_fill(index);
    if (resident == 0 && frees_dense) {
      untouched++;
      continue;
    }
    seen++;
    if (resident >= unit.used - unit.used / 8)
      continue;
    if (seen > 1 || skipped || resident < unit.used - unit.used / 3)
      return false;
    skipped = true;
    seen = 0;
  }
  if (seen == 0 && !frees_dense)
    return false;
  if (looked_empty_)
    holds_zeros_ = true;
  unsigned full = 0;
  const bool by_contents = config_.probes_double && !holds_zeros_,
             empty = (by_number || by_contents) && !superpages_hold_data(full);
  looked_empty_ = empty && full != 0;
  return !(empty && (by_number || full != 0));
}

/// True if most of the last full units that were superpages at first touch holds the program's
/// data. False also if there is none; `seen` is the number of examined ones.
bool SmallPages::superpages_hold_data(unsigned &seen) {
  if (area_count_ < 2)
    return false;
  const bool frees_dense = frees_dense_.load(std::memory_order_relaxed);
  const Area &area = areas_[1];
  unsigned untouched = 0;
  for (UnitIndex index = region_->grown_units(area.slice);
       index-- > 0 && seen < kProbes && untouched < kMostUntouched;) {
    if (!full_unit(area, index).used)
      continue;
    if (frees_dense && resident_pages_of(area, index) == 0) {
      untouched++;
      continue;
    }
    seen++;
    if (!region_->os().holds_most_data(region_->unit_address(area.slice, index)))
      return false;
  }
  return seen != 0;
}

size_t SmallPages::resident_pages_of(const Area &area, UnitIndex index) const {
  return region_->os().resident_pages(region_->unit_address(area.slice, index), kSuperpageBytes);
}

/// Records whether the program had touched pages `first` to `end` of a unit, which it has freed. A
/// superpage is examined by its contents and as a whole. Precondition: lock_ is held.
void SmallPages::note_freed(const Area &area, UnitIndex index, size_t first, size_t end) {
  if (!config_.probes_double) // advise_empty() serves the process' heap only
    return;
  const Unit &unit = area.units[index];
  char *start = region_->unit_address(area.slice, index);
  size_t pages = end - first, touched = 0;
  if (unit.superpage) {
    if (unit.pages_used)
      return;
    pages = kPagesPerUnit;
    touched = region_->os().holds_most_data(start) ? pages : 0;
  } else if (pages >= kExaminedPages) {
    touched = region_->os().resident_pages(start + first * kBasePageBytes, pages * kBasePageBytes);
  } else {
    return;
  }
  freed_pages_ += pages;
  touched_pages_ += touched;
  if (freed_pages_ > kRememberedPages) {
    freed_pages_ /= 2;
    touched_pages_ /= 2;
  }
  frees_dense_.store(freed_pages_ >= kTellingPages &&
                         touched_pages_ >= freed_pages_ - freed_pages_ / 8,
                     std::memory_order_relaxed);
}

/// Returns the used pages of a unit; 0 while it is filled or emptied.
SmallPages::FullUnit SmallPages::full_unit(const Area &area, UnitIndex index) {
  SpinGuard guard(lock_);
  const Unit &unit = area.units[index];
  return {unit.pages_used < kFullPages ? size_t{0} : unit.pages_used, unit.superpage};
}

char *SmallPages::grow(size_t bytes, size_t alignment, unsigned heaps_sharing, bool promotable) {
  size_t units = units_for(bytes);
  bool priced = !config_.superpages_at_first_touch && config_.first_touch;
  const bool whole = bytes % kSuperpageBytes == 0; // else part of the last unit stays unused
  bool at_first_touch =
      config_.has_super && whole &&
      (config_.superpages_at_first_touch || (is_large(heaps_sharing) && grows_dense(units)));
  if (at_first_touch && priced && config_.first_touch->too_expensive()) {
    at_first_touch = false;
    region_->counters()
        .not_on[static_cast<unsigned>(PageKind::kSuperpage)]
               [static_cast<unsigned>(WhyNot::kExpensive)]
        .add();
  }
  Area *area = &areas_[0];
  char *p = nullptr;
  if (at_first_touch && region_->thp_allowed() && region_->charge_superpages(units)) {
    area = &areas_[1];
    p = region_->grow(area->slice, units * kSuperpageBytes, max_of(alignment, kSuperpageBytes));
    if (!p)
      region_->uncharge_superpages(units);
  } else if (at_first_touch && region_->medium_advice()) {
    // Pages of 64 KiB are released page by page, like base pages.
    if ((p = region_->grow(areas_[1].slice, units * kSuperpageBytes,
                           max_of(alignment, kSuperpageBytes))))
      return p;
  }
  if (p) {
    if (priced) // result unused: the next growth tests the cost again
      config_.first_touch->touch(p, 1);
    UnitIndex first = region_->unit_of(area->slice, p);
    SpinGuard guard(lock_);
    // And `had` from its first use on.
    for (size_t i = 0; i < units; i++)
      area->units[first + i].superpage = true;
    region_->counters().superpages_at_first_touch.add(units);
    // For the first units, on base pages: they hold the first objects, which may be the hottest.
    if (pending() || config_.probes_double)
      earn(units * kGrowthCreditNs);
    return p;
  }
  p = region_->grow(areas_[0].slice, units * kSuperpageBytes, max_of(alignment, kSuperpageBytes));
  if (p && !promotable) {
    const UnitIndex first = region_->unit_of(areas_[0].slice, p);
    SpinGuard guard(lock_);
    for (size_t i = 0; i < units; i++)
      areas_[0].units[first + i].cold = true;
  } else if (p && config_.collapse_as_it_grows && past_reach())
    earn(units * kGrowthCreditNs);
  return p;
}

SmallPages::Unit &SmallPages::unit_of(const char *p, Area *&area, UnitIndex &index) {
  area = area_count_ == 2 &&
                 reinterpret_cast<uintptr_t>(p) >= region_->slice_start(areas_[1].slice) &&
                 reinterpret_cast<uintptr_t>(p) < region_->slice_end(areas_[1].slice)
             ? &areas_[1]
             : &areas_[0];
  index = region_->unit_of(area->slice, p);
  return area->units[index];
}

/// Updates what follows from a unit's use and page size. Precondition: lock_ is held.
void SmallPages::update(Area &area, UnitIndex index) {
  Unit &unit = area.units[index];
  ranking_.set(area.rank_base + index, ranked_pages(unit));
  bool promotable = (&area == &areas_[0] || unit.demoted) && !unit.cold;
  bool dense = promotable && !unit.superpage && unit.pages_used >= config_.dense_pages &&
               unit.failures < kMostFailures;
  if (dense == unit.dense)
    return;
  unit.dense = dense;
  uint32_t before = dense ? dense_units_.fetch_add(1, std::memory_order_relaxed)
                          : dense_units_.fetch_sub(1, std::memory_order_relaxed);
  if (config_.collapse_as_it_grows && before == (dense ? 0u : 1u))
    region_->add_pending(dense ? 1 : -1);
}

bool SmallPages::commit(char *start, size_t bytes) {
  if (config_.note_growth) {
    const uint64_t grown = grown_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (grown >= kNotedBytes) {
      grown_bytes_.store(0, std::memory_order_relaxed);
      config_.note_growth(grown);
    }
  }
  char *advised = nullptr;
  use(start, bytes, advised);
  // The program will touch it: populating it measures what that costs.
  if (advised && config_.first_touch)
    config_.first_touch->touch(advised, 1);
  return true;
}

/// Makes memory usable. `advised`: the last unit that gets a superpage at its next touch.
void SmallPages::use(char *start, size_t bytes, char *&advised) {
  SpinGuard guard(lock_);
  for (size_t done = 0; done < bytes;) {
    Area *area;
    UnitIndex index;
    Unit &unit = unit_of(start + done, area, index);
    if (unit.pages_used == 0 && advise_empty(*area, index))
      advised = region_->unit_address(area->slice, index);
    size_t page = (reinterpret_cast<uintptr_t>(start + done) % kSuperpageBytes) / kBasePageBytes;
    size_t end = min_of(kPagesPerUnit, page + (bytes - done) / kBasePageBytes);
    done += (end - page) * kBasePageBytes;
    for (; page < end; page++) {
      uint64_t bit = uint64_t{1} << (page % 64);
      if (unit.used[page / 64] & bit)
        continue;
      if (unit.dirty[page / 64] & bit) {
        memset(region_->unit_address(area->slice, index) + page * kBasePageBytes, 0,
               kBasePageBytes);
        unit.dirty[page / 64] &= ~bit;
      }
      unit.used[page / 64] |= bit;
      // One idle page less, or a new superpage's.
      if (unit.superpage)
        idle_pages_ += unit.pages_used ? UINT64_MAX : kPagesPerUnit - 1;
      unit.pages_used++;
      live_pages_.fetch_add(1, std::memory_order_relaxed);
    }
    if (unit.superpage && unit.pages_used)
      note_had(unit);
    update(*area, index);
  }
  note_live();
}

/// Counts the unit's superpage, which exists from now on. Precondition: lock_ is held.
void SmallPages::note_had(Unit &unit) {
  if (!unit.had)
    region_->got_superpages(1);
  unit.had = true;
}

/// Precondition: lock_ is held.
void SmallPages::note_live() {
  Counters &c = region_->counters();
  auto of_heap = [&](Counter &main, Counter &of_class, Counter &of_nodes) -> Counter & {
    return config_.base == Slice::kClass  ? of_class
           : config_.base == Slice::kNode ? of_nodes
                                          : main;
  };
  of_heap(c.small_bytes_now, c.class_bytes_now, c.node_bytes_now).set(live_bytes());
  of_heap(c.small_bytes_peak, c.class_bytes_peak, c.node_bytes_peak).raise(live_bytes());
  of_heap(c.small_idle_bytes, c.class_idle_bytes, c.node_idle_bytes)
      .set(idle_pages_ * kBasePageBytes);
}

void SmallPages::decommit(char *start, size_t bytes) {
  SpinGuard guard(lock_);
  for (size_t done = 0; done < bytes;) {
    Area *area;
    UnitIndex index;
    Unit &unit = unit_of(start + done, area, index);
    char *base = region_->unit_address(area->slice, index);
    size_t first = (reinterpret_cast<uintptr_t>(start + done) % kSuperpageBytes) / kBasePageBytes;
    size_t end = min_of(kPagesPerUnit, first + (bytes - done) / kBasePageBytes);
    done += (end - first) * kBasePageBytes;
    for (size_t page = first; page < end; page++) {
      uint64_t bit = uint64_t{1} << (page % 64);
      if (!(unit.used[page / 64] & bit))
        continue;
      unit.used[page / 64] &= ~bit;
      unit.dirty[page / 64] |= bit;
      unit.pages_used--;
      if (unit.superpage)
        idle_pages_ += unit.pages_used ? 1 : uint64_t{0} - (kPagesPerUnit - 1);
      live_pages_.fetch_sub(1, std::memory_order_relaxed);
    }
    note_freed(*area, index, first, end);
    // A superpage is released when none of its pages is used, base pages at once. If the kernel
    // refuses (locked memory), the pages stay dirty and commit() clears them.
    if (unit.pages_used == 0) {
      release_empty(*area, index);
    } else if (!unit.superpage && region_->os().purge(base + first * kBasePageBytes,
                                                      (end - first) * kBasePageBytes) == 0) {
      for (size_t page = first; page < end; page++)
        unit.dirty[page / 64] &= ~(uint64_t{1} << (page % 64));
      region_->counters().pages_released.add(end - first);
    }
    update(*area, index);
  }
  demote_idle();
  note_live();
}

/// Precondition: lock_ is held.
void SmallPages::release_empty(Area &area, UnitIndex index) {
  Unit &unit = area.units[index];
  char *start = region_->unit_address(area.slice, index);
  if (region_->os().purge(start, kSuperpageBytes) != 0)
    return;
  memset(unit.dirty, 0, sizeof unit.dirty);
  region_->counters().pages_released.add(kPagesPerUnit);
  if (unit.superpage && !starts_as_superpage(area, unit)) {
    unit.superpage = false;
    unit.failures = 0;
    region_->demoted(start, kSuperpageBytes, 1);
  } else if (unit.had) { // its next use makes it a superpage again: the charge stays
    region_->emptied_superpages(1);
  }
  unit.had = false;
  if (unit.advised && !frees_dense_.load(std::memory_order_relaxed))
    withdraw_advice(unit, start);
  else if (unit.demoted)
    restore_first_touch(area, index);
}

void SmallPages::purge_again() {
  SpinGuard guard(lock_);
  for (unsigned i = 0; i < area_count_; i++) {
    Area &area = areas_[i];
    UnitIndex end = region_->grown_units(area.slice);
    for (UnitIndex index = 0; index < end; index++) {
      Unit &unit = area.units[index];
      uint64_t dirty = 0;
      for (uint64_t word : unit.dirty)
        dirty |= word;
      if (dirty && unit.pages_used == 0)
        release_empty(area, index);
      else if (dirty && !unit.superpage)
        purge_idle(unit, region_->unit_address(area.slice, index));
    }
  }
}

void SmallPages::earn(uint64_t ns, uint64_t counted_ns) {
  counted_ns_.fetch_add(counted_ns, std::memory_order_relaxed);
  uint64_t total = earned_ns_.fetch_add(ns, std::memory_order_relaxed) + ns;
  if (total >= static_cast<uint64_t>(Ledger::kStartPriceNs) / 4)
    due_.store(true, std::memory_order_relaxed);
}

void SmallPages::earn_time() {
  if (!promotion_lock_.try_lock())
    return;
  const uint64_t now = region_->os().now_ns(); // under the lock: time does not run backwards
  uint64_t passed = now - min_of(now, last_time_ns_);
  last_time_ns_ = now;
  promotion_lock_.unlock();
  earn(passed / kTimePerCollapseTime);
}

/// True if the measured cost of collapses leaves room for `price_ns`. Precondition: promotion_lock_
/// is held. Growth and time earn credit by estimates, which may be wrong for a whole program. The
/// cost paid is measured, and so is the time of which it must not exceed a share.
bool SmallPages::affordable(int64_t price_ns) const {
  return !config_.cpu_ns ||
         paid_ns_ + static_cast<uint64_t>(price_ns) <=
             counted_ns_.load(std::memory_order_relaxed) + config_.cpu_ns() / kTimePerCollapseTime;
}

/// Tries to collapse one unit. Returns 0 or an errno value. ENOSPC: the budget is used up, so other
/// units would fail too.
int SmallPages::try_unit(Area &area, UnitIndex index, Price &price) {
  Unit &unit = area.units[index];
  char *start = region_->unit_address(area.slice, index);
  bool dense = region_->os().resident_pages(start, kSuperpageBytes) >= config_.dense_pages;
  bool was_demoted;
  {
    SpinGuard guard(lock_);
    was_demoted = unit.demoted;
  }
  uint64_t took = 0;
  const uint64_t cpu_began = config_.thread_cpu_ns ? config_.thread_cpu_ns() : 0;
  int error = EAGAIN;
  if (!dense) {
    region_->counters().units_too_sparse.add();
  } else {
    auto collapse = [&] {
      return was_demoted ? promote_demoted(start, took) : region_->promote(start, took);
    };
    error = collapse();
    if (error == ENOSPC && config_.make_room && region_->short_of_superpages() &&
        config_.make_room(worth_per_unit(), dense_units_.load(std::memory_order_relaxed)))
      error = collapse();
  }
  if (config_.thread_cpu_ns)
    took = config_.thread_cpu_ns() - cpu_began;
  ledger_.pay(took);
  paid_ns_ += took;
  if (!error)
    price.measured(took);
  SpinGuard guard(lock_);
  if (!error && unit.superpage) { // emptied and given its superpage back meanwhile
    region_->lost_superpages(1);
  } else if (!error && !unit.pages_used && !unit.demoted && &area == &areas_[0]) {
    // Emptied meanwhile: the superpage went with its pages.
    region_->demoted(start, kSuperpageBytes, 1);
  } else if (!error) {
    if (unit.demoted && !unit.advised)
      region_->uncharge_mappings(1);
    unit.superpage = true;
    unit.had = true; // Region::promote has counted it
    unit.demoted = false;
    if (unit.pages_used)
      idle_pages_ += kPagesPerUnit - unit.pages_used;
  } else {
    unit.failures += error != ENOSPC;
    // Emptied and advised again meanwhile: redo the advice that the refusal took back.
    if (was_demoted && unit.superpage)
      advise_first_touch(area, index);
  }
  update(area, index);
  return error;
}

void SmallPages::promote(Price &price, uint64_t pause_ns, bool eager) {
  if (!promotion_lock_.try_lock())
    return;
  due_.store(false, std::memory_order_relaxed);
  ledger_.earn(earned_ns_.exchange(0, std::memory_order_relaxed));
  UnitIndex first_end = region_->grown_units(areas_[0].slice);
  UnitIndex end = first_end + (area_count_ == 2 ? region_->grown_units(areas_[1].slice) : 0);
  uint64_t began = region_->os().now_ns();
  bool refused = false;
  for (UnitIndex seen = 0; seen < end && pending();) {
    if (!eager && (!ledger_.covers(price.ns()) || !affordable(price.ns())))
      break;
    Area *area = nullptr;
    UnitIndex index = 0;
    {
      SpinGuard guard(lock_);
      for (; seen < end && !area; seen++) {
        if (next_unit_ >= end)
          next_unit_ = 0;
        index = next_unit_++;
        Area &a = areas_[index >= first_end];
        if (index >= first_end)
          index -= first_end;
        if (a.units[index].dense)
          area = &a;
      }
    }
    if (!area)
      break;
    if (try_unit(*area, index, price) == ENOSPC) {
      refused = true;
      break;
    }
    if (region_->os().now_ns() - began >= pause_ns)
      break;
  }
  const bool funded = !refused && ledger_.covers(price.ns()) && affordable(price.ns());
  funded_.store(funded, std::memory_order_relaxed);
  if (funded && pending()) // the pause was over: a later call continues
    due_.store(true, std::memory_order_relaxed);
  promotion_lock_.unlock();
}

bool SmallPages::pay_for(Price &price, bool (*collapse)()) {
  if (!promotion_lock_.try_lock())
    return false;
  ledger_.earn(earned_ns_.exchange(0, std::memory_order_relaxed));
  bool collapsed = false;
  if (ledger_.covers(price.ns()) && affordable(price.ns())) {
    const auto now = [&] {
      return config_.thread_cpu_ns ? config_.thread_cpu_ns() : region_->os().now_ns();
    };
    const uint64_t began = now();
    collapsed = collapse();
    const uint64_t took = now() - began;
    ledger_.pay(took);
    paid_ns_ += took;
  }
  promotion_lock_.unlock();
  return collapsed;
}

UnitIndex SmallPages::promote_all(Price &price) {
  SpinGuard promotion(promotion_lock_);
  Area &area = areas_[0];
  UnitIndex end = region_->grown_units(area.slice), promoted = 0;
  for (UnitIndex index = 0; index < end; index++) {
    bool wanted;
    {
      SpinGuard guard(lock_);
      const Unit &unit = area.units[index];
      wanted = !unit.superpage && !unit.cold && unit.pages_used >= config_.dense_pages;
    }
    if (wanted)
      try_unit(area, index, price);
    SpinGuard guard(lock_);
    promoted += area.units[index].superpage;
  }
  return promoted;
}

bool SmallPages::check_invariants() {
  SpinGuard guard(lock_);
  uint64_t live = 0, dense = 0, idle = 0;
  unsigned fewest = kPagesPerUnit + 1;
  for (unsigned i = 0; i < area_count_; i++) {
    UnitIndex end = region_->grown_units(areas_[i].slice);
    for (UnitIndex index = 0; index < end; index++) {
      const Unit &unit = areas_[i].units[index];
      unsigned used = 0;
      for (unsigned w = 0; w < kPagesPerUnit / 64; w++) {
        used += static_cast<unsigned>(__builtin_popcountll(unit.used[w]));
        if (unit.used[w] & unit.dirty[w])
          return false;
      }
      if (used != unit.pages_used || (unit.superpage && used && !unit.had) ||
          (unit.had && !unit.superpage))
        return false;
      live += used;
      idle += ranked_pages(unit) ? kPagesPerUnit - used : 0;
      if (ranking_.pages(areas_[i].rank_base + index) != ranked_pages(unit))
        return false;
      if (ranked_pages(unit) && used < fewest)
        fewest = used;
      dense += unit.dense;
    }
  }
  const UnitIndex ranked = ranking_.fewest();
  if (ranked == kNoUnit ? fewest <= kPagesPerUnit : ranking_.pages(ranked) != fewest)
    return false;
  return live == live_pages_.load() && dense == dense_units_.load() && idle == idle_pages_;
}

} // namespace smalloc
