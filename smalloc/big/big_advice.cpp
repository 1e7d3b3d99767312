// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// big_advice.cpp gives superpages to single units of a big object, or withholds them, by advice to
// the kernel (madvise). Advice splits an object into several mappings, whose number is limited, so
// each is charged. big_ahead.cpp decides for objects that are watched; fill() serves a program that
// says what it is about to write.
#include "smalloc/big/big_objects.h"

namespace smalloc {

/// Advises units `from` to `to` against superpages. False: no mapping is left for it. Precondition:
/// lock_ is held.
bool BigObjects::withhold(Area &a, UnitIndex from, UnitIndex to) {
  if (from >= to || !region_->charge_mappings(kExpensiveMappings))
    return false;
  if (region_->os().advise(address(a, from), size_t{to - from} * kSuperpageBytes,
                           Advice::kNoSuperpages) == 0)
    return true;
  region_->uncharge_mappings(kExpensiveMappings);
  return false;
}

/// Withholds superpages from units `from` to `to`, by which the object has more than doubled: like
/// a new object, they get superpages ahead of the fill. False: they get them at first touch.
/// Preconditions: lock_ is held; no promotion is running.
bool BigObjects::withhold_growth(Area &a, UnitIndex head, BigObject &o, UnitIndex from,
                                 UnitIndex to) {
  if (!o.history || (!o.watched && to - from <= max_of<UnitIndex>(from, 1)) ||
      !withhold(a, head + from, head + to))
    return false;
  o.mappings += kExpensiveMappings;
  o.demoted = true;
  o.fruitless = 0;
  o.next_unit = 0;
  set_pending(o, may_wait(o));
  if (!o.watched) {
    o.probe = from;
    o.probe_pages = 0;
    o.looks_without_growth = 0;
    watch(o, head, kSuper);
  }
  return true;
}

/// Gives superpages to up to `most` units from `from` on. An empty unit gets advice. A unit that
/// holds a page already is collapsed, since a fault no longer makes it a superpage. Returns how
/// many units it went over. Precondition: promotion_lock_ is held.
UnitIndex BigObjects::give_ahead(Area &a, UnitIndex head, BigObject &o, UnitIndex from,
                                 uint64_t most) {
  const OsHooks &os = region_->os();
  const UnitIndex left = from < o.whole_units ? o.whole_units - from : 0;
  auto units = static_cast<UnitIndex>(min_of<uint64_t>(min_of<uint64_t>(most, left), kMostAhead));
  // Stop at the first unit that is a superpage already, in an object that has grown.
  for (UnitIndex i = 0; i < units; i++)
    if (is_superpage(a, head + from + i))
      units = i;
  if (units == 0 || !region_->charge_superpages(units))
    return 0;
  const bool fits = region_->charge_mappings(kExpensiveMappings);
  if (!fits || os.advise(address(a, head + from), size_t{units} * kSuperpageBytes,
                         Advice::kSuperpages) != 0) {
    region_->uncharge_superpages(units);
    if (fits)
      region_->uncharge_mappings(kExpensiveMappings);
    return 0;
  }
  uint64_t got = 0;
  static_assert(kMostAhead <= 64);
  for (UnitIndex i = 0; i < units; i++) {
    char *start = address(a, head + from + i);
    const size_t pages = os.resident_pages(start, kSuperpageBytes);
    if (pages == 0 || (pages < kBegunPages && os.collapse(start, kSuperpageBytes) == 0))
      got |= uint64_t{1} << i;
  }
  const auto count = static_cast<unsigned>(__builtin_popcountll(got));
  region_->uncharge_superpages(units - count);
  region_->got_superpages(count);
  region_->counters().superpages_at_first_touch.add(count);
  region_->counters().superpages_ahead.add(count);
  SpinGuard guard(lock_);
  for (UnitIndex i = 0; i < units; i++)
    if (got >> i & 1)
      set_superpage(a, head + from + i, true);
  o.mappings += kExpensiveMappings;
  o.superpages += count;
  if (count) {
    o.site_unpublished = true;
    unrecorded_.store(true, std::memory_order_relaxed);
  }
  return units;
}

/// Advises the whole object for superpages: every unit is a superpage, filled, or about to be. The
/// object is one mapping again, which can be kept for the next object and moved by realloc.
/// Precondition: lock_ is held.
void BigObjects::join_mappings(Area &a, UnitIndex head, BigObject &o) {
  if (region_->os().advise(address(a, head), size_t{o.whole_units} * kSuperpageBytes,
                           Advice::kSuperpages) != 0)
    return;
  region_->uncharge_mappings(o.mappings - kOwnMappings);
  o.mappings = kOwnMappings;
  o.demoted = false;
}

void BigObjects::fill(const Handle &handle, const void *p, size_t range) {
  if (!promotion_lock_.try_lock())
    return;
  BigObject &o = *handle.object;
  Area &a = handle.slice == areas_[kSuper].slice ? areas_[kSuper] : areas_[kBase];
  const auto first = reinterpret_cast<uintptr_t>(address(a, handle.head)),
             from = reinterpret_cast<uintptr_t>(p);
  // A unit counts as written if at most its first or last eighth is outside the range.
  constexpr size_t kMissing = kSuperpageBytes / 8;
  UnitIndex unit = 0, end = 0;
  if (handle.object->units != 0 && o.pending && from >= first) { // else it was freed meanwhile
    const size_t begin = range ? from - first : o.offset,
                 past = range ? begin + min_of(range, o.offset + o.bytes -
                                                          min_of(o.offset + o.bytes, begin))
                              : o.offset + o.bytes;
    unit = static_cast<UnitIndex>(align_up(begin - min_of(begin, kMissing), kSuperpageBytes) /
                                  kSuperpageBytes);
    end = min_of(static_cast<UnitIndex>((past + kMissing) / kSuperpageBytes), o.whole_units);
  }
  const bool whole = unit == 0 && end == o.whole_units && end != 0;
  const auto is_touched = [&](UnitIndex at) {
    return !is_superpage(a, handle.head + at) &&
           region_->os().resident_pages(address(a, handle.head + at), kSuperpageBytes) >=
               kBegunPages;
  };
  // A loop may write memory on base pages again and again: then this call costs only a look at
  // three units.
  if (unit < end && is_touched(unit) && is_touched(end - 1) && is_touched(unit + (end - unit) / 2))
    unit = end = 0;
  while (unit < end && !too_expensive()) {
    UnitIndex given = 1;
    if (!is_superpage(a, handle.head + unit) && !is_touched(unit))
      given = give_ahead(a, handle.head, o, unit, end - unit);
    if (given == 0)
      break;
    unit += given;
  }
  if (whole && end != 0 && unit == end) {
    SpinGuard guard(lock_);
    record_fill(a, handle.head, o);
  }
  if (&a == &areas_[kBase] && o.superpages)
    o.demoted = true; // its units have advice of their own
  if (o.units != 0 && o.superpages == o.whole_units) {
    SpinGuard guard(lock_);
    set_pending(o, false);
  }
  promotion_lock_.unlock();
}

} // namespace smalloc
