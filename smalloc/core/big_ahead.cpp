// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// big_ahead.cpp gives superpages to big objects ahead of the program's first touches. A superpage is
// cheap before the first touch (one fault instead of 512) and dear after it (a collapse), but it
// makes 2 MiB resident, so a sparse object must not get it.
//
// An object whose complete initialisation is not proved starts with advice against superpages. Its
// first unit is the probe. When the probe is filled, the units behind it are advised for superpages,
// up to the window; the next unit is the new probe. The window bounds what may be wasted: units given
// ahead whose probe is not filled yet are at most max(kLeastWindow, 2 % of resident memory) for the
// whole process. Units that the program has filled before the thread looked are passed over: a
// collapse saves none of their faults, waits for every processor, and is refused (EAGAIN) for a unit in
// which another thread is faulting.
//
// look_ahead() is called by the helper thread (promotion_thread.cpp), never by the program's threads.
#include "smalloc/core/big_objects.h"

namespace smalloc {
namespace {
constexpr uint64_t kLeastWindow = 2; ///< units
/// A probe on base pages is a measure of the program's own speed, and of the order in which it writes,
/// once it has grown by so many pages. The next units have to be given before the program reaches them.
constexpr size_t kMeasuredPages = 48;
/// From here on a probe that fills in order shows that what was given in front of it is filled, too.
constexpr size_t kNearlyPages = kPagesPerUnit * 3 / 4;
/// From here on the program is filling the unit: a collapse would fight with its faults.
constexpr size_t kBegunPages = 16;
/// New pages of a probe between two looks that show a fill.
constexpr size_t kGrowthPages = 4;
/// A unit that takes longer is not being filled all the time.
constexpr uint64_t kLongestFillNs = 20000000;
constexpr UnitIndex kMostAhead = 64; ///< units at a time
} // namespace

/// Locked. Advises units `from` to `to` against superpages. False: no mapping is left for it.
bool BigObjects::withhold(Area &a, UnitIndex from, UnitIndex to) {
  if (from >= to || !region_->charge_mappings(kDearMappings))
    return false;
  if (region_->os().advise(address(a, from), size_t{to - from} * kSuperpageBytes,
                           Advice::kNoSuperpages) == 0)
    return true;
  region_->uncharge_mappings(kDearMappings);
  return false;
}

/// Locked. Beyond kMostWatched objects a new one is left to the promoter.
void BigObjects::watch(BigObject &o, UnitIndex head, unsigned area) {
  for (Watched &w : watched_)
    if (!w.object) {
      w = {&o, head, area};
      o.watched = true;
      watched_count_.fetch_add(1, std::memory_order_relaxed);
      watch_begun_.store(true, std::memory_order_relaxed);
      return;
    }
}

/// Locked.
void BigObjects::unwatch(BigObject &o) {
  if (!o.watched)
    return;
  o.watched = false;
  units_ahead_ -= o.ahead_units;
  o.ahead_units = 0;
  for (Watched &w : watched_)
    if (w.object == &o)
      w.object = nullptr;
  watched_count_.fetch_sub(1, std::memory_order_relaxed);
}

/// Locked, and no promotion is going on. The object has grown by units `from` to `to`, by more than it
/// had: as at its birth they get superpages ahead of the fill only. False: they get them at birth.
bool BigObjects::withhold_growth(Area &a, UnitIndex head, BigObject &o, UnitIndex from,
                                 UnitIndex to) {
  if (!o.history || (!o.watched && to - from <= max_of<UnitIndex>(from, 1)) ||
      !withhold(a, head + from, head + to))
    return false;
  o.mappings += kDearMappings;
  o.demoted = true;
  o.fruitless = 0;
  o.next_unit = 0;
  set_pending(o, may_wait(o));
  if (!o.watched) {
    o.probe = from;
    o.probe_pages = 0;
    o.still_looks = 0;
    watch(o, head, kSuper);
  }
  return true;
}

/// Holds promotion_lock_. Gives superpages to up to `most` units from `from` on: by advice where a unit
/// is empty, by a collapse where it holds a page already, since a fault makes no superpage of it then.
/// Returns how many units it went over.
UnitIndex BigObjects::give_ahead(Area &a, UnitIndex head, BigObject &o, UnitIndex from,
                                 uint64_t most) {
  const OsHooks &os = region_->os();
  const UnitIndex left = from < o.whole_units ? o.whole_units - from : 0;
  auto units = static_cast<UnitIndex>(min_of<uint64_t>(min_of<uint64_t>(most, left), kMostAhead));
  // Up to the first unit that is a superpage already, of an object that has grown.
  for (UnitIndex i = 0; i < units; i++)
    if (is_superpage(a, head + from + i))
      units = i;
  if (units == 0 || !region_->charge_superpages(units))
    return 0;
  const bool fits = region_->charge_mappings(kDearMappings);
  if (!fits || os.advise(address(a, head + from), size_t{units} * kSuperpageBytes,
                         Advice::kSuperpages) != 0) {
    region_->uncharge_superpages(units);
    if (fits)
      region_->uncharge_mappings(kDearMappings);
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
  region_->counters().superpages_at_birth.add(count);
  region_->counters().superpages_ahead.add(count);
  SpinGuard guard(lock_);
  for (UnitIndex i = 0; i < units; i++)
    if (got >> i & 1)
      set_superpage(a, head + from + i, true);
  o.mappings += kDearMappings;
  o.superpages += count;
  if (count) {
    o.untold = true;
    untold_.store(true, std::memory_order_relaxed);
  }
  return units;
}

/// Locked. Every unit is a superpage, filled, or about to be: one advice makes the object one mapping
/// again, which can be kept for the next object and moved by realloc.
void BigObjects::join_mappings(Area &a, UnitIndex head, BigObject &o) {
  if (region_->os().advise(address(a, head), size_t{o.whole_units} * kSuperpageBytes,
                           Advice::kSuperpages) != 0)
    return;
  region_->uncharge_mappings(o.mappings - kOwnMappings);
  o.mappings = kOwnMappings;
  o.demoted = false;
}

/// True if exactly the first `pages` pages of the unit are resident: a loop fills it upwards.
bool BigObjects::fills_in_order(const char *unit, size_t pages) const {
  return region_->os().resident_pages(unit, pages * kBasePageBytes) == pages;
}

/// Units that are given ahead take `took_ns` each to fill, the program's own work included; what a unit
/// takes on base pages was measured while the program filled one. A rest of the program in between counts
/// for neither.
void BigObjects::compare_with_base(const BigObject &o, uint64_t took_ns) {
  if (took_ns && took_ns < kLongestFillNs && o.base_ns && o.base_ns < kLongestFillNs &&
      config_.birth)
    config_.birth->account(took_ns, o.base_ns);
}

/// Holds promotion_lock_. Counts the units that were given ahead and now hold the program's data: others
/// may be given in their place. What is filled with zeros is not known before the program reaches the
/// probe.
bool BigObjects::note_filled(Area &a, UnitIndex head, BigObject &o) {
  UnitIndex filled = 0;
  while (filled < o.ahead_units &&
         region_->os().holds_data(address(a, head + o.probe - o.ahead_units + filled)))
    filled++;
  if (filled == 0)
    return false;
  const uint64_t now = program_ns();
  if (o.filled_ns)
    compare_with_base(o, (now - o.filled_ns) / filled);
  SpinGuard guard(lock_);
  units_ahead_ -= filled;
  o.ahead_units -= filled;
  o.shows_data = true;
  o.filled_ns = o.ahead_units ? now : 0; // else the program has gone on to base pages
  return true;
}

/// What the process may still be given ahead, units.
uint64_t BigObjects::window_left(uint64_t (*resident_bytes)()) const {
  const uint64_t window = max_of(kLeastWindow, resident_bytes() / 50 / kSuperpageBytes);
  return window - min_of(window, units_ahead_);
}

/// Holds promotion_lock_. The probe has `pages` resident pages and is not filled. True: the program fills
/// it upwards, and nothing is in front of it, or surely filled.
bool BigObjects::look_at_probe(Area &a, UnitIndex head, BigObject &o, size_t pages, bool &moved) {
  const uint64_t now = program_ns();
  if (pages && !o.probe_pages) { // the program has filled what was given in front of it
    if (o.ahead_units && o.given_ns)
      compare_with_base(o, (now - o.given_ns) / o.ahead_units);
    o.begun_ns = now;
    o.begun_pages = static_cast<uint16_t>(pages);
  }
  const bool grows = pages >= o.probe_pages + kGrowthPages;
  moved |= grows;
  if (grows)
    o.still_looks = 0;
  else if (o.still_looks < kStillLooks)
    o.still_looks++;
  o.probe_pages = static_cast<uint16_t>(pages);
  const size_t least = o.ahead_units ? kNearlyPages : o.begun_pages + kMeasuredPages;
  return grows && pages >= least && fills_in_order(address(a, head + o.probe), pages);
}

/// Holds promotion_lock_. True while the program fills the object.
bool BigObjects::look_at(const Watched &w, uint64_t (*resident_bytes)()) {
  Area &a = areas_[w.area];
  BigObject &o = *w.object;
  const auto pages_of = [&](UnitIndex index) {
    return is_superpage(a, w.head + index)
               ? kPagesPerUnit
               : region_->os().resident_pages(address(a, w.head + index), kSuperpageBytes);
  };
  bool moved = note_filled(a, w.head, o);
  while (o.probe < o.whole_units) {
    size_t pages = pages_of(o.probe);
    UnitIndex front = o.probe;
    const bool untouched = o.shows_data && pages == 0;
    if (!untouched) {
      if (pages < kDensePages && !look_at_probe(a, w.head, o, pages, moved))
        return moved;
      if (o.begun_ns && pages > o.begun_pages)
        o.base_ns = (program_ns() - o.begun_ns) * kPagesPerUnit / (pages - o.begun_pages);
      // The program may have filled more since the last look: the next units are given at its front,
      // behind the one that it is filling now.
      front++;
      while (front < o.whole_units && (pages = pages_of(front)) >= kDensePages)
        front++;
      if (front < o.whole_units && pages >= kBegunPages)
        front++;
    }
    UnitIndex given = 0;
    if (w.area == kSuper && front < o.whole_units && !too_expensive()) {
      const uint64_t left = window_left(resident_bytes) + (untouched ? 0 : o.ahead_units);
      given = give_ahead(a, w.head, o, front, left);
    }
    if (untouched && given == 0)
      return moved;
    moved = true;
    SpinGuard guard(lock_);
    if (!untouched) { // all in front of the probe is filled
      units_ahead_ -= o.ahead_units;
      o.ahead_units = 0;
      o.filled_ns = 0;
    }
    units_ahead_ += given;
    o.ahead_units += given;
    o.probe_pages = 0;
    o.probe = front + given;
    o.given_ns = given && !untouched ? program_ns() : 0;
    o.begun_ns = 0;
  }
  if (o.shows_data && o.ahead_units) { // the last units show by themselves whether they are filled
    o.still_looks =
        moved ? 0 : static_cast<uint8_t>(min_of(o.still_looks + 1u, unsigned{kStillLooks}));
    return moved;
  }
  SpinGuard guard(lock_);
  fills_.filled(o.history, o.whole_units);
  unwatch(o);
  if (w.area == kSuper)
    join_mappings(a, w.head, o);
  return moved;
}

/// Holds promotion_lock_ if somebody may be promoting the object. It is about to be freed: has the program
/// filled it since the last look? A few of the units behind the probe answer for all, the last among
/// them. A unit that got its superpage ahead was given because those before it were filled; one that was
/// born with it is resident from the first touch on, so its contents tell.
bool BigObjects::ends_filled(const Area &a, UnitIndex head, const BigObject &o) const {
  constexpr UnitIndex kAsked = 8;
  const UnitIndex left = o.whole_units - min_of(o.probe, o.whole_units),
                  step = max_of<UnitIndex>(left / kAsked, 1);
  if (left == 0)
    return false; // all given: look_at() has said what there is to say, or no whole unit
  for (UnitIndex i = 0; i < left; i += step) {
    const UnitIndex unit = head + o.whole_units - 1 - i;
    if (is_superpage(a, unit)
            ? !o.watched && !region_->os().holds_data(address(a, unit))
            : region_->os().resident_pages(address(a, unit), kSuperpageBytes) < kDensePages)
      return false;
  }
  return true;
}

void BigObjects::fill(const Handle &handle, const void *p, size_t range) {
  if (!promotion_lock_.try_lock())
    return;
  BigObject &o = *handle.object;
  Area &a = handle.slice == areas_[kSuper].slice ? areas_[kSuper] : areas_[kBase];
  const auto first = reinterpret_cast<uintptr_t>(address(a, handle.head)),
             from = reinterpret_cast<uintptr_t>(p);
  // A unit whose last or first eighth belongs to others is as good as written.
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
  // Memory that a loop writes again and again, on base pages: a look at three units is all that costs.
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
    fills_.filled(o.history, o.whole_units);
    unwatch(o);
    if (&a == &areas_[kSuper])
      join_mappings(a, handle.head, o);
  }
  if (&a == &areas_[kBase] && o.superpages)
    o.demoted = true; // has advice of its own
  if (o.units != 0 && o.superpages == o.whole_units) {
    SpinGuard guard(lock_);
    set_pending(o, false);
  }
  promotion_lock_.unlock();
}

bool BigObjects::look_ahead(uint64_t (*resident_bytes)(), unsigned &given) {
  bool moved = false;
  for (Watched &w : watched_) {
    if (!__atomic_load_n(&w.object, __ATOMIC_RELAXED))
      continue;
    // For one object at a time: release() and resize() wait for it.
    if (!promotion_lock_.try_lock())
      return true;
    lock_.lock();
    const Watched seen = w;
    lock_.unlock();
    if (seen.object)
      moved |= look_at(seen, resident_bytes);
    promotion_lock_.unlock();
  }
  given = static_cast<unsigned>(units_ahead_);
  return moved;
}

} // namespace smalloc
