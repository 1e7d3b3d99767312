// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// small_demoter.cpp demotes superpages of small objects that are too empty. A heap demotes when the
// unused pages of its superpages exceed a share of the used pages (demote:), plus one superpage
// that is being filled. It splits the emptiest superpage into base pages and releases the unused
// ones: most memory for the least TLB reach. A demoted unit that fills up is promoted again. If the
// budget is used up, the emptiest also go first when a big object needs superpages more.
#include "smalloc/small/small_pages.h"

namespace smalloc {

/// Releases every unused page of the unit. Precondition: lock_ is held.
void SmallPages::purge_idle(Unit &unit, char *start) {
  for (size_t page = 0; page < kPagesPerUnit;) {
    size_t end = page;
    while (end < kPagesPerUnit && !(unit.used[end / 64] >> (end % 64) & 1))
      end++;
    if (end == page) {
      page++;
      continue;
    }
    if (region_->os().purge(start + page * kBasePageBytes, (end - page) * kBasePageBytes) == 0) {
      region_->counters().pages_released.add(end - page);
      for (; page < end; page++)
        unit.dirty[page / 64] &= ~(uint64_t{1} << (page % 64));
    }
    page = end;
  }
}

/// Splits the unit's superpage into base pages. Precondition: lock_ is held.
bool SmallPages::demote_unit(Area &area, UnitIndex index) {
  Unit &unit = area.units[index];
  char *start = region_->unit_address(area.slice, index);
  char *idle_page = nullptr;
  for (size_t page = 0; page < kPagesPerUnit && !idle_page; page++)
    if (!(unit.used[page / 64] >> (page % 64) & 1))
      idle_page = start + page * kBasePageBytes;
  if (unit.advised) {
    region_->os().split(start, idle_page);
    region_->os().advise(start, kSuperpageBytes, Advice::kNoSuperpages);
    region_->lost_superpages(1);
    region_->counters().demotions.add();
  } else if (!region_->demote(start, idle_page)) {
    return false;
  }
  idle_pages_ -= kPagesPerUnit - unit.pages_used;
  unit.superpage = unit.had = false;
  unit.demoted = starts_as_superpage(area, unit);
  unit.failures = 0;
  purge_idle(unit, start);
  update(area, index);
  return true;
}

/// Finds the emptiest superpage in use. Precondition: lock_ is held.
bool SmallPages::find_emptiest(Area *&area, UnitIndex &emptiest) {
  UnitIndex ranked = ranking_.fewest();
  if (ranked == kNoUnit)
    return false;
  area = &areas_[area_count_ == 2 && ranked >= areas_[1].rank_base];
  emptiest = ranked - area->rank_base;
  return true;
}

bool SmallPages::has_superpages() {
  SpinGuard guard(lock_);
  Area *area;
  UnitIndex index;
  return find_emptiest(area, index);
}

unsigned SmallPages::give_up(unsigned most) {
  SpinGuard guard(lock_);
  unsigned given = 0;
  Area *area;
  UnitIndex index;
  while (given < most && find_emptiest(area, index) && demote_unit(*area, index))
    given++;
  return given;
}

char *SmallPages::next_superpage(uint64_t &from) {
  uint64_t before = 0; // units of the previous areas
  for (unsigned i = 0; i < area_count_; i++) {
    SpinGuard guard(lock_);
    const UnitIndex end = region_->grown_units(areas_[i].slice);
    while (from < before + end) {
      const auto index = static_cast<UnitIndex>(from++ - before);
      const Unit &unit = areas_[i].units[index];
      if (unit.superpage && unit.had && unit.pages_used)
        return region_->unit_address(areas_[i].slice, index);
    }
    before += end;
  }
  return nullptr;
}

bool SmallPages::counts_superpage(const char *unit) {
  SpinGuard guard(lock_);
  Area *area;
  UnitIndex index;
  const Unit &u = unit_of(unit, area, index);
  return u.superpage && u.had;
}

void SmallPages::halve_worth(unsigned times) {
  uint64_t seen = worth_ns_.load(std::memory_order_relaxed);
  while (!worth_ns_.compare_exchange_weak(seen, times < 64 ? seen >> times : 0,
                                          std::memory_order_relaxed)) {
  }
}

/// Demotes the emptiest superpages until the idle pages are within their share. Precondition: lock_
/// is held.
void SmallPages::demote_idle() {
  if (config_.idle_percent == 0)
    return;
  for (;;) {
    uint64_t live = live_pages_.load(std::memory_order_relaxed);
    if (idle_pages_ <= live * config_.idle_percent / 100 + kPagesPerUnit)
      return;
    Area *area;
    UnitIndex emptiest;
    if (!find_emptiest(area, emptiest) || !demote_unit(*area, emptiest))
      return;
  }
}

/// Acts as Region::promote(), for a unit that had a superpage at first touch and was then advised
/// against superpages. Precondition: promotion_lock_ is held, lock_ is not.
int SmallPages::promote_demoted(char *start, uint64_t &took) {
  const OsHooks &os = region_->os();
  os.advise(start, kSuperpageBytes, Advice::kSuperpages);
  int error = region_->promote(start, took);
  if (error)
    os.advise(start, kSuperpageBytes, Advice::kNoSuperpages);
  return error;
}

/// Gives an empty unit that lost its superpage another one, if the budget allows it. Precondition:
/// lock_ is held.
void SmallPages::restore_first_touch(Area &area, UnitIndex index) {
  Unit &unit = area.units[index];
  if (!region_->charge_superpages(1))
    return;
  advise_first_touch(area, index);
  if (!unit.advised)
    region_->uncharge_mappings(1);
  unit.superpage = true; // and `had` from its first use on
  unit.demoted = false;
}

/// Advises a unit for superpages again. Precondition: lock_ is held.
void SmallPages::advise_first_touch(Area &area, UnitIndex index) {
  char *start = region_->unit_address(area.slice, index);
  if (area.units[index].advised)
    region_->os().advise(start, kSuperpageBytes, Advice::kSuperpages);
  else
    region_->advise_range(area.slice, start, kSuperpageBytes);
}

/// Advises an empty unit of the base slice, which is about to be used, for superpages: if a new
/// unit would get one, and the program had touched what it freed before. From then on it is like a
/// unit of the other slice, with a mapping of its own. Precondition: lock_ is held.
bool SmallPages::advise_empty(Area &area, UnitIndex index) {
  Unit &unit = area.units[index];
  if (&area != &areas_[0] || unit.superpage || unit.cold || !config_.probes_double ||
      !frees_dense_.load(std::memory_order_relaxed) || !is_large(1) || !region_->thp_allowed() ||
      (config_.first_touch && config_.first_touch->too_expensive()))
    return false;
  for (uint64_t word : unit.dirty)
    if (word) // locked memory, which the kernel keeps
      return false;
  if (!advise_base_unit(area, index))
    return false;
  region_->counters().superpages_at_first_touch.add(1);
  return true;
}

/// Advises an untouched unit of the base slice for superpages. False: the budget or the limit on
/// mappings is used up. Precondition: lock_ is held.
bool SmallPages::advise_base_unit(Area &area, UnitIndex index) {
  Unit &unit = area.units[index];
  if (!unit.advised && !region_->charge_mappings(1))
    return false;
  if (!region_->charge_superpages(1)) {
    if (!unit.advised)
      region_->uncharge_mappings(1);
    return false;
  }
  unit.advised = unit.superpage = true; // and `had` from its first use on
  unit.demoted = false;
  advise_first_touch(area, index);
  return true;
}

/// Withdraws the advice of an empty unit, whose next use gets base pages: the program no longer
/// touches what it requests. Precondition: lock_ is held.
void SmallPages::withdraw_advice(Unit &unit, char *start) {
  if (!unit.superpage)
    return;
  region_->os().advise(start, kSuperpageBytes, Advice::kNoSuperpages);
  region_->uncharge_superpages(1);
  unit.superpage = false;
  unit.demoted = true;
}

} // namespace smalloc
