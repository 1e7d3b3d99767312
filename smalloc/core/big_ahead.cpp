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
/// A probe that fills in order is believed from kNearlyPages on: the next units have to be given before
/// the program reaches them.
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

/// The program has reached the probe: it has filled the units that were given ahead of it. What a unit
/// of them took is compared with what the last probe took on base pages; both hold the program's own
/// work. A rest of the program in between counts for neither.
void BigObjects::probe_begun(BigObject &o, uint64_t now_ns) {
  if (o.given_ns && o.ahead_units && o.base_ns && config_.birth) {
    const uint64_t took = (now_ns - o.given_ns) / o.ahead_units;
    if (took < kLongestFillNs && o.base_ns < kLongestFillNs)
      config_.birth->account(took, o.base_ns);
  }
  o.begun_ns = now_ns;
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
  bool moved = false;
  while (o.probe < o.whole_units) {
    size_t pages = pages_of(o.probe);
    const bool filled =
        pages >= kDensePages || (o.probes_filled && pages >= kNearlyPages &&
                                 fills_in_order(address(a, w.head + o.probe), pages));
    const uint64_t now = region_->os().now_ns();
    if (!filled) {
      if (pages && !o.probe_pages)
        probe_begun(o, now);
      moved |= pages >= o.probe_pages + kGrowthPages;
      if (moved)
        o.still_looks = 0;
      else if (o.still_looks < kStillLooks)
        o.still_looks++;
      o.probe_pages = static_cast<uint16_t>(pages);
      return moved;
    }
    if (o.begun_ns)
      o.base_ns = now - o.begun_ns;
    // The program may have filled more since the last look: the next units are given at its front,
    // behind the one that it is filling now.
    UnitIndex front = o.probe + 1;
    while (front < o.whole_units && (pages = pages_of(front)) >= kDensePages)
      front++;
    if (front < o.whole_units && pages >= kBegunPages)
      front++;
    UnitIndex given = 0;
    if (w.area == kSuper && front < o.whole_units && !too_expensive()) {
      const uint64_t others = units_ahead_ - o.ahead_units,
                     window = max_of(kLeastWindow, resident_bytes() / 50 / kSuperpageBytes);
      given = give_ahead(a, w.head, o, front, window - min_of(window, others));
    }
    moved = true;
    SpinGuard guard(lock_);
    units_ahead_ = units_ahead_ - o.ahead_units + given;
    o.ahead_units = given;
    o.probes_filled = true;
    o.probe_pages = 0;
    o.probe = front + given;
    o.given_ns = given ? now : 0;
    o.begun_ns = 0;
  }
  SpinGuard guard(lock_);
  fills_.filled(o.history, o.whole_units);
  unwatch(o);
  if (w.area == kSuper)
    join_mappings(a, w.head, o);
  return moved;
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
