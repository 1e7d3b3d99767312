// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// small_fill.cpp gives superpages to units of small objects ahead of the program's first touches. A
// program may request all rows of a matrix before it fills the first. Then the heap has grown on
// base pages, since untouched units may stay empty. The helper thread follows the fill upwards, and
// advises the units in front of it: at most two, or 2 % of the heap.
#include "smalloc/small/small_pages.h"

namespace smalloc {

/// Records that unit `index` of the base slice is full and untouched: the fill may begin there.
void SmallPages::begin_fill(UnitIndex index) {
  UnitIndex none = kNoUnit;
  fill_.compare_exchange_strong(none, index, std::memory_order_relaxed);
}

/// True if the program has filled the used pages of the unit. A superpage is resident as a whole:
/// its contents show what is filled.
bool SmallPages::is_filled(UnitIndex index, const FullUnit &unit) const {
  const char *start = region_->unit_address(areas_[0].slice, index);
  return unit.superpage ? region_->os().holds_most_data(start)
                        : resident_pages_of(areas_[0], index) >= unit.used - unit.used / 8;
}

/// Advises full and untouched units of the base slice for superpages, from the one behind the fill
/// on. Precondition: fill_lock_ is held.
void SmallPages::give_ahead_of_fill(UnitIndex front) {
  if (!region_->thp_allowed() || (config_.first_touch && config_.first_touch->too_expensive()))
    return;
  const UnitIndex window = max_of<UnitIndex>(2, units_for(live_bytes() / 50)),
                  end = min_of(front + 1 + window, region_->grown_units(areas_[0].slice));
  for (UnitIndex index = max_of(front + 1, given_end_); index < end; index++) {
    const FullUnit seen = full_unit(areas_[0], index);
    if (!seen.used || seen.superpage || resident_pages_of(areas_[0], index) != 0)
      return;
    SpinGuard guard(lock_);
    Unit &unit = areas_[0].units[index];
    if (unit.superpage || unit.pages_used != seen.used || unit.cold ||
        !advise_base_unit(areas_[0], index))
      return;
    note_had(unit);
    idle_pages_ += kPagesPerUnit - unit.pages_used;
    update(areas_[0], index);
    region_->counters().superpages_ahead.add();
    given_end_ = index + 1;
  }
}

unsigned SmallPages::look_ahead() {
  if (!follows_fill() || !fill_lock_.try_lock())
    return 0;
  const UnitIndex last = region_->grown_units(areas_[0].slice);
  UnitIndex front = fill_.load(std::memory_order_relaxed);
  unsigned grown = 0;
  FullUnit unit = {};
  for (; front < last; front++) {
    unit = full_unit(areas_[0], front);
    if (unit.used && !is_filled(front, unit))
      break;
    grown += unit.used ? kUnitParts : 0;
    fill_pages_ = 0;
  }
  if (front < last) {
    constexpr size_t kPagesPerPart = kPagesPerUnit / kUnitParts;
    const char *start = region_->unit_address(areas_[0].slice, front);
    const size_t pages =
        unit.superpage
            ? static_cast<size_t>(__builtin_popcount(region_->os().parts_with_data(start))) *
                  kPagesPerPart
            : resident_pages_of(areas_[0], front);
    if (pages > fill_pages_)
      grown += static_cast<unsigned>((pages - fill_pages_) / kPagesPerPart);
    fill_pages_ = pages;
    // The program fills upwards: the lower half of the unit is filled.
    if (pages >= kPagesPerUnit / 2 &&
        (unit.superpage ||
         region_->os().resident_pages(start, kSuperpageBytes / 2) >= kPagesPerUnit * 7 / 16))
      give_ahead_of_fill(front);
  } else {
    given_end_ = 0;
  }
  fill_.store(front < last ? front : kNoUnit, std::memory_order_relaxed);
  fill_lock_.unlock();
  return grown;
}

} // namespace smalloc
