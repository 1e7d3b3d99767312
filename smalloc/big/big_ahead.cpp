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
/// In parts. kLeastShare: one unit, and the last quarter of the one that is being filled.
/// kLeastWindow has room for two arrays that fill together: each can get its next superpage before
/// the current one is filled.
constexpr uint64_t kLeastShare = kUnitParts + kUnitParts / 4, kLeastWindow = 2 * kLeastShare;
/// Consecutive look_ahead() calls without growth in an object after which only every kIdleLooks-th
/// call examines it.
constexpr uint8_t kIdleLooks = 8;
/// CPU time of the program after which withdraw() takes untouched superpages from an object that
/// does not grow.
constexpr uint64_t kStaleNs = 30000000;
} // namespace

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
