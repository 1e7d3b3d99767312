// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// big_ahead.cpp gives superpages to big objects ahead of the program's first touches. Before the
// first touch a superpage is cheap: one page fault instead of 512. Afterwards it costs a collapse.
// But it makes 2 MiB resident, so a sparse object must not get one.
//
// An object whose complete initialisation is not proved starts with advice against superpages. Its
// first unit is the probe. When the probe is filled, the units behind it are advised for
// superpages, up to the window; the next unit is the new probe. The window bounds the waste. Units
// given ahead that hold no data yet take at most max(kLeastWindow, 2 % of resident memory) for the
// whole process. Objects that fill together share twice that: a program stops in the middle of a
// unit on average. A unit is examined in sixteenths, so that the next one is given before the
// program reaches it. Units that the program has filled before the thread looked are skipped. A
// collapse saves none of their faults and waits for every processor. The kernel refuses it (EAGAIN)
// for a unit in which another thread is faulting.
//
// The helper thread calls look_ahead() (promotion_thread.cpp), never the program's threads.
#include "smalloc/big/big_objects.h"

namespace smalloc {
namespace {
/// In parts: two units, and the last quarters of two that are being filled. Two arrays that fill
/// together can each get the next superpage before the current one is filled.
constexpr uint64_t kLeastShare = kUnitParts + kUnitParts / 4, kLeastWindow = 2 * kLeastShare;
/// Growth of a probe on base pages from which it measures the program's speed and the order of its
/// writes. The next units must be given before the program reaches them.
constexpr size_t kMeasuredPages = 48;
/// Resident pages from which a probe that fills in order shows that the units given in front of it
/// are filled, too.
constexpr size_t kNearlyPages = kPagesPerUnit * 3 / 4;
/// Resident pages from which the program is filling the unit: a collapse would contend with its
/// page faults.
constexpr size_t kBegunPages = 16;
/// New pages of a probe between two looks that show a fill.
constexpr size_t kGrowthPages = 4;
/// A unit that takes longer is not filled continuously.
constexpr uint64_t kLongestFillNs = 20000000;
/// Consecutive look_ahead() calls without growth in an object after which only every kIdleLooks-th
/// call examines it.
constexpr uint8_t kIdleLooks = 8;
constexpr UnitIndex kMostAhead = 64; ///< units given at a time
/// CPU time of the program after which withdraw() takes untouched superpages from an object that
/// does not grow.
constexpr uint64_t kStaleNs = 30000000;
} // namespace

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

/// Adds the object to the watched ones. If kMostWatched are watched already, it is left to the
/// promoter. Precondition: lock_ is held.
void BigObjects::watch(BigObject &o, UnitIndex head, unsigned area) {
  for (Watched &w : watched_)
    if (!w.object) {
      w = {&o, head, area, 0};
      o.watched = true;
      watched_count_.fetch_add(1, std::memory_order_relaxed);
      watch_begun_.store(true, std::memory_order_relaxed);
      return;
    }
}

/// Clears the account of units given ahead: they are filled, or no longer the object's.
/// Precondition: lock_ is held.
void BigObjects::forget_ahead(BigObject &o) {
  parts_ahead_ -= o.ahead_units * kUnitParts - o.ahead_filled;
  o.ahead_units = o.ahead_filled = 0;
}

/// Precondition: lock_ is held.
void BigObjects::unwatch(BigObject &o) {
  if (!o.watched)
    return;
  o.watched = false;
  forget_ahead(o);
  for (Watched &w : watched_)
    if (w.object == &o)
      w.object = nullptr;
  watched_count_.fetch_sub(1, std::memory_order_relaxed);
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

/// True if the `pages` resident pages of the unit lie side by side, with gaps of an eighth of them
/// at most. Then a loop fills the unit upwards, perhaps except for the border of a grid.
bool BigObjects::fills_in_order(const char *unit, size_t pages) const {
  const auto resident = [&](size_t from, size_t to) {
    return region_->os().resident_pages(unit + from * kBasePageBytes, (to - from) * kBasePageBytes);
  };
  if (resident(0, pages) == pages)
    return true;
  size_t end = pages + 1, most = kPagesPerUnit; // end of the last resident page
  while (end < most) {
    const size_t middle = (end + most) / 2;
    if (resident(0, middle) == pages)
      most = middle;
    else
      end = middle + 1;
  }
  const size_t span = min_of(end, pages + pages / 8);
  return resident(end - span, end) == pages;
}

/// True if the program has left pages of the probe out and fills the next unit: the probe has
/// `pages` pages and gets no more.
bool BigObjects::is_passed(const Area &a, UnitIndex head, const BigObject &o, size_t pages) const {
  const UnitIndex next = head + o.probe + 1;
  if (pages < kPagesPerUnit / 2 || o.probe + 1 >= o.whole_units || is_superpage(a, next))
    return false;
  const size_t begun = region_->os().resident_pages(address(a, next), kSuperpageBytes);
  return begun >= kMeasuredPages && fills_in_order(address(a, next), begun);
}

/// Compares the fill time of units given ahead, `took_ns` each, with that of the object's units on
/// base pages. Both include the program's own work. A longer pause of the program excludes the
/// measurement. While several objects fill at once, the time of one contains the page faults of the
/// others, so nothing is accounted.
void BigObjects::compare_with_base(const BigObject &o, uint64_t took_ns) {
  if (filling_ <= 1 && took_ns && took_ns < kLongestFillNs && o.base_ns &&
      o.base_ns < kLongestFillNs && config_.first_touch)
    config_.first_touch->account(took_ns, o.base_ns);
}

/// True if a loop has filled a unit; `with_data` has a bit for each part that holds data. The last
/// part has data, or the loop has begun with the next unit. A quarter of the parts may hold zeros.
bool BigObjects::is_filled(unsigned with_data, bool next_begun) {
  return OsHooks::are_most(with_data) && (next_begun || with_data >> (kUnitParts - 1));
}

/// Counts the units given ahead that now hold the program's data: the same amount may be given in
/// their place. Units filled with zeros are unknown until the program reaches the probe. Returns
/// the newly filled parts. Precondition: promotion_lock_ is held.
unsigned BigObjects::note_filled(Area &a, UnitIndex head, BigObject &o) {
  unsigned data[kMostAhead], begun = 0; // leading units that hold any data
  while (begun < min_of(o.ahead_units, kMostAhead) &&
         (data[begun] = region_->os().parts_with_data(
              address(a, head + o.probe - o.ahead_units + begun))) != 0)
    begun++;
  UnitIndex filled = 0;
  while (filled < begun && is_filled(data[filled], filled + 1 < begun))
    filled++;
  unsigned parts = 0;
  for (UnitIndex i = filled; i < begun; i++)
    parts += static_cast<unsigned>(__builtin_popcount(data[i]));
  const unsigned lacked = o.ahead_units * kUnitParts - o.ahead_filled,
                 lacks = (o.ahead_units - filled) * kUnitParts - parts;
  if (lacks >= lacked)
    return 0;
  const uint64_t now = program_ns();
  if (filled && o.filled_ns)
    compare_with_base(o, (now - o.filled_ns) / filled);
  SpinGuard guard(lock_);
  parts_ahead_ -= lacked - lacks;
  o.ahead_units -= filled;
  o.ahead_filled = static_cast<uint16_t>(parts);
  if (filled) {
    o.shows_data = true;
    o.filled_ns = o.ahead_units ? now : 0; // else the program continues on base pages
  }
  return lacked - lacks;
}

/// Withdraws untouched units from an object that has not grown for long; other objects may use
/// them. They take no memory. Touched units may be filled with zeros, and stay. Precondition:
/// promotion_lock_ is held.
void BigObjects::withdraw(Area &a, UnitIndex head, BigObject &o) {
  UnitIndex units = 0;
  while (units < o.ahead_units &&
         region_->os().resident_pages(address(a, head + o.probe - 1 - units), kSuperpageBytes) == 0)
    units++;
  o.stale = true;
  const UnitIndex from = head + o.probe - units;
  if (units == 0 || region_->os().advise(address(a, from), size_t{units} * kSuperpageBytes,
                                         Advice::kNoSuperpages) != 0)
    return;
  SpinGuard guard(lock_);
  region_->lost_superpages(clear_superpages(a, from, units));
  o.superpages -= units;
  o.probe -= units;
  o.ahead_units -= units;
  parts_ahead_ -= units * kUnitParts;
}

/// True if the program has reached the end of the object: a page behind the last whole unit is
/// resident.
bool BigObjects::reaches_tail(const Area &a, UnitIndex head, const BigObject &o) const {
  return o.units > o.whole_units &&
         region_->os().resident_pages(address(a, head + o.whole_units), kBasePageBytes) != 0;
}

/// Returns how many units may be given to an object that has `own` parts not yet filled, where all
/// objects have `given`. An object may have its next unit before its last one is filled, or it
/// would get every other unit.
uint64_t BigObjects::may_have(uint64_t own, uint64_t given, uint64_t (*resident_bytes)()) {
  if (!window_) // once per look_ahead() call
    window_ = max_of(kLeastWindow, resident_bytes() / 50 / (kSuperpageBytes / kUnitParts));
  const uint64_t share = max_of<uint64_t>(window_ / max_of(filling_, 1u), kLeastShare),
                 all = filling_ > 1 ? 2 * window_ : window_;
  return min_of(all - min_of(all, given), share - min_of(share, own)) / kUnitParts;
}

/// True if the program fills the probe upwards, and the units in front of it are surely filled or
/// none. The probe has `pages` resident pages and is not filled. Precondition: promotion_lock_ is
/// held.
bool BigObjects::look_at_probe(Area &a, UnitIndex head, BigObject &o, size_t pages,
                               unsigned &grown) {
  const uint64_t now = program_ns();
  if (pages && !o.probe_pages) { // the program has filled the units in front of the probe
    if (o.ahead_units && o.given_ns)
      compare_with_base(o, (now - o.given_ns) / o.ahead_units);
    o.begun_ns = now;
    o.begun_pages = static_cast<uint16_t>(pages);
  }
  const bool grows = pages >= o.probe_pages + kGrowthPages;
  const size_t least = o.ahead_units ? kNearlyPages : o.begun_pages + kMeasuredPages;
  const bool measured = grows && pages >= least,
             in_order = measured && fills_in_order(address(a, head + o.probe), pages);
  if (grows) {
    // A fill in any order (a hash table) fills all units at once: frequent looks would find nothing
    // to give, so its growth does not ask for them.
    if (in_order || !measured)
      grown += static_cast<unsigned>((pages - o.probe_pages) / (kPagesPerUnit / kUnitParts) + 1);
    o.looks_without_growth = 0;
  } else if (o.looks_without_growth < kStillLooks)
    o.looks_without_growth++;
  o.probe_pages = static_cast<uint16_t>(pages);
  return in_order;
}

/// Returns how many pages of the unit the program has filled; all of them if it is a superpage.
size_t BigObjects::filled_pages(const Area &a, UnitIndex unit) const {
  return is_superpage(a, unit) ? kPagesPerUnit
                               : region_->os().resident_pages(address(a, unit), kSuperpageBytes);
}

/// Returns the unit of the object from which on superpages help. The program may have filled more
/// than the probe since the last look, and is filling a unit now.
UnitIndex BigObjects::front_of_fill(const Area &a, UnitIndex head, const BigObject &o) const {
  UnitIndex front = o.probe + 1;
  for (; front < o.whole_units; front++)
    if (const size_t pages = filled_pages(a, head + front); pages < kDensePages)
      return pages >= kBegunPages ? front + 1 : front;
  return front;
}

/// Records whether the object has grown since the last look: it has `grown` parts more. Withdraws
/// what it was given if it stands still for long. Precondition: promotion_lock_ is held.
void BigObjects::note_standstill(Area &a, UnitIndex head, BigObject &o, unsigned grown) {
  if (grown) {
    o.still_ns = 0;
    o.stale = false;
  } else if (o.ahead_units && !o.stale) {
    const uint64_t now = program_ns();
    if (!o.still_ns)
      o.still_ns = now;
    else if (now - o.still_ns > kStaleNs)
      withdraw(a, head, o);
  }
}

/// Gives the object superpages from unit `front` on, as many as it may have. `filled`: the units in
/// front of it are filled, those given ahead included. Returns how many units it went over.
/// Precondition: promotion_lock_ is held.
UnitIndex BigObjects::give_share(const Watched &w, UnitIndex front, bool filled,
                                 uint64_t (*resident_bytes)()) {
  BigObject &o = *w.object;
  if (w.area != kSuper || front >= o.whole_units || too_expensive())
    return 0;
  const uint64_t had = o.ahead_units * kUnitParts - o.ahead_filled, own = filled ? 0 : had;
  return give_ahead(areas_[w.area], w.head, o, front,
                    may_have(own, parts_ahead_ - had + own, resident_bytes));
}

/// Moves the probe behind the `given` units from `front` on. `filled`: the units in front of them
/// are filled.
void BigObjects::move_probe(BigObject &o, UnitIndex front, UnitIndex given, bool filled) {
  SpinGuard guard(lock_);
  if (filled) {
    forget_ahead(o);
    o.filled_ns = o.still_ns = 0;
    o.stale = false;
  }
  parts_ahead_ += given * kUnitParts;
  o.ahead_units += given;
  o.probe_pages = 0;
  o.probe = front + given;
  o.given_ns = given && filled ? program_ns() : 0;
  o.begun_ns = 0;
}

/// Records that the program fills the whole object, and ends the watch. Precondition: lock_ is
/// held.
void BigObjects::record_fill(Area &a, UnitIndex head, BigObject &o) {
  fills_.filled(o.history, o.whole_units);
  unwatch(o);
  if (&a == &areas_[kSuper])
    join_mappings(a, head, o);
}

/// Examines one object and gives it units ahead. Returns about how many parts the program has
/// filled since the last look. Precondition: promotion_lock_ is held.
unsigned BigObjects::look_at(const Watched &w, uint64_t (*resident_bytes)()) {
  Area &a = areas_[w.area];
  BigObject &o = *w.object;
  unsigned grown = note_filled(a, w.head, o);
  note_standstill(a, w.head, o, grown);
  while (o.probe < o.whole_units) {
    const size_t pages = filled_pages(a, w.head + o.probe);
    const bool untouched = o.shows_data && pages == 0; // the units given ahead show the fill
    UnitIndex front = o.probe;
    if (!untouched) {
      if (pages < kDensePages && !look_at_probe(a, w.head, o, pages, grown) &&
          !is_passed(a, w.head, o, pages))
        return grown;
      if (o.begun_ns && pages > o.begun_pages)
        o.base_ns = (program_ns() - o.begun_ns) * kPagesPerUnit / (pages - o.begun_pages);
      front = front_of_fill(a, w.head, o);
    } else if (o.stale) {
      return grown;
    }
    const UnitIndex given = give_share(w, front, !untouched, resident_bytes);
    if (untouched && given == 0)
      return grown;
    grown += (front - o.probe) * kUnitParts;
    move_probe(o, front, given, !untouched);
  }
  if (o.shows_data && o.ahead_units &&
      !reaches_tail(a, w.head, o)) { // the contents of the last units show whether they are filled
    o.looks_without_growth =
        grown ? 0
              : static_cast<uint8_t>(min_of(o.looks_without_growth + 1u, unsigned{kStillLooks}));
    return grown;
  }
  SpinGuard guard(lock_);
  record_fill(a, w.head, o);
  return grown;
}

/// True if the program has filled the rest of an object that is about to be freed. A few of the
/// units behind the probe are examined, the last among them. The units before one that was given
/// ahead were filled. A superpage from the allocation on is resident from its first touch, so its
/// contents are examined. Precondition: promotion_lock_ is held if the object may be promoted.
bool BigObjects::ends_filled(const Area &a, UnitIndex head, const BigObject &o) const {
  constexpr UnitIndex kAsked = 8;
  const UnitIndex left = o.whole_units - min_of(o.probe, o.whole_units),
                  step = max_of<UnitIndex>(left / kAsked, 1);
  if (left == 0) // all units are given: look_at() has recorded the fill, or the last unit shows it
    return o.ahead_units != 0 && region_->os().holds_data(address(a, head + o.whole_units - 1));
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

unsigned BigObjects::look_ahead(uint64_t (*resident_bytes)(), bool all) {
  unsigned filling = 0, most = 0;
  window_ = 0;
  looks_++;
  for (Watched &w : watched_) {
    const BigObject *object = __atomic_load_n(&w.object, __ATOMIC_RELAXED);
    if (!object ||
        (!all && w.idle_looks == kIdleLooks && (looks_ + (&w - watched_)) % kIdleLooks != 0))
      continue;
    // Take the lock for one object at a time: release() and resize() wait for it.
    if (!promotion_lock_.try_lock())
      return max_of(most, 1u);
    lock_.lock();
    const Watched seen = w;
    lock_.unlock();
    if (const unsigned grown = seen.object ? look_at(seen, resident_bytes) : 0) {
      filling++;
      most = max_of(most, grown);
      w.idle_looks = 0;
    } else if (w.idle_looks < kIdleLooks) {
      w.idle_looks++;
    }
    promotion_lock_.unlock();
  }
  filling_ = filling;
  return most;
}

} // namespace smalloc
