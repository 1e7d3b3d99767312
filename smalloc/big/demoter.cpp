// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// demoter.cpp takes superpages from an owner when the budget is used up and a claimant would gain
// more. The owner is the big object whose superpages saved least per unit lately, or the heap of
// small objects. Savings halve every second, so that cold memory gives way. A claimant must show
// twice the gain, so that two equal ones do not alternate for ever. (Each promotion must also be
// paid by credit.) Where a profile rates two objects, the ratings count. The better object takes
// superpages when it is allocated, before its use is known, and does not give them up to the other
// one.
#include "smalloc/big/big_objects.h"
#include "smalloc/small/small_pages.h"

namespace smalloc {
namespace {
constexpr uint64_t kHalfLifeNs = 1000000000;
constexpr uint64_t kClearlyMore = 2;
constexpr unsigned kUnitsAtOnce = 16; ///< bounds the pause: about 20 us each

uint64_t worth_per_unit(const BigObject &o) { return o.worth_ns / max_of(o.whole_units, 1u); }
} // namespace

void BigObjects::note_worth(const Handle &handle, uint64_t saved_ns) {
  SpinGuard guard(lock_);
  if (handle.object->units)
    handle.object->worth_ns += saved_ns;
}

char *BigObjects::next_superpage(uint64_t &from) {
  SpinGuard guard(lock_);
  uint64_t before = 0; // units of the previous areas
  for (Area &a : areas_) {
    const UnitIndex end = a.map.high_water();
    while (from < before + end) {
      const auto unit = static_cast<UnitIndex>(from++ - before);
      if (!is_superpage(a, unit))
        continue;
      const Handle h = find_locked(address(a, unit));
      if (h && unit - h.head >= h.object->pooled.units())
        return address(a, unit);
    }
    before += end;
  }
  return nullptr;
}

bool BigObjects::counts_superpage(const char *unit) {
  SpinGuard guard(lock_);
  const Area &a = area_of(unit);
  return is_superpage(a, region_->unit_of(a.slice, unit));
}

BigObjects::Handle BigObjects::next_unrecorded() {
  if (SMALLOC_LIKELY(!unrecorded_.load(std::memory_order_relaxed)))
    return {};
  SpinGuard guard(lock_);
  for (Area &a : areas_)
    for (UnitIndex unit = 0; unit < a.map.high_water(); unit++) {
      BigObject &o = a.objects[unit];
      if (o.units == 0)
        continue;
      if (o.site_unpublished) {
        o.site_unpublished = false;
        return {a.slice, unit, &o};
      }
      unit += o.units - 1;
    }
  unrecorded_.store(false, std::memory_order_relaxed);
  return {};
}

// A unit that was released as a whole is as before its first touch: the next touch brings a
// superpage.
void BigObjects::given_back(const char *start, size_t bytes) {
  if (!lock_.comes_free())
    return;
  SpinGuard guard(lock_);
  Area &a = area_of(start);
  const UnitIndex end = a.map.high_water();
  const char *stop = start + bytes;
  for (UnitIndex unit = region_->unit_of(a.slice, start); unit < end && address(a, unit) < stop;
       unit++) {
    const bool whole = address(a, unit) >= start && address(a, unit) + kSuperpageBytes <= stop;
    if (whole || !is_superpage(a, unit))
      continue;
    const Handle h = find_locked(address(a, unit));
    if (!h || unit - h.head < h.object->pooled.units())
      continue;
    if (!region_->demote(address(a, unit)))
      return;
    set_superpage(a, unit, false);
    h.object->superpages--;
    if (&a == &areas_[kSuper]) {
      h.object->mappings++;
      h.object->demoted = true;
    }
    h.object->site_unpublished = true;
    unrecorded_.store(true, std::memory_order_relaxed);
  }
}

/// Takes superpages from the object's end: programs mostly use the front. Precondition: lock_ is
/// held.
unsigned BigObjects::take_superpages_from(Area &a, UnitIndex head, unsigned most) {
  BigObject &o = a.objects[head];
  unsigned taken = 0;
  for (UnitIndex i = o.whole_units; i-- > o.pooled.units() && taken < most;) {
    if (!is_superpage(a, head + i))
      continue;
    if (!region_->demote(address(a, head + i)))
      break;
    set_superpage(a, head + i, false);
    o.superpages--;
    taken++;
    if (&a == &areas_[kSuper]) {
      o.mappings++;
      o.demoted = true;
    }
  }
  if (taken) {
    o.site_unpublished = true;
    unrecorded_.store(true, std::memory_order_relaxed);
  }
  if (taken && &a == &areas_[kBase]) {
    o.fruitless = 0;
    set_pending(o, true); // it may earn them back
  }
  return taken;
}

/// Makes room in a used-up budget for a new object whose directive has the profile's `worth` and
/// needs `wanted` superpages. Takes superpages from objects of less worth, the least first. Takes
/// none if all of these objects together have too few. True: the budget has room now. Precondition:
/// the caller holds no lock.
bool BigObjects::take_from_less_worthy(uint32_t worth, UnitIndex wanted) {
  if (!config_.may_demote || worth == 0)
    return false;
  SpinGuard promotion(promotion_lock_);
  SpinGuard guard(lock_);
  const uint64_t left = region_->superpages_left();
  // With a budget in percent of the footprint the missing number is unknown.
  auto missing =
      static_cast<unsigned>(wanted > left ? wanted - left : min_of(wanted, kUnitsAtOnce));
  for (bool taking = false;; taking = true) {
    Area *from = nullptr;
    UnitIndex victim = 0;
    uint64_t available = 0;
    for (Area &a : areas_)
      for (UnitIndex unit = 0; unit < a.map.high_water(); unit++) {
        const BigObject &o = a.objects[unit];
        if (o.units == 0)
          continue;
        if (o.profile_worth < worth && o.superpages > o.pooled.units()) {
          available += o.superpages - o.pooled.units();
          if (!from || o.profile_worth < from->objects[victim].profile_worth) {
            from = &a;
            victim = unit;
          }
        }
        unit += o.units - 1;
      }
    if (!from || (!taking && available < missing))
      return false;
    const unsigned taken = take_superpages_from(*from, victim, missing);
    if (taken == 0 || taken == missing)
      return taken != 0;
    missing -= taken;
  }
}

bool BigObjects::make_room_for(uint64_t worth_per_unit, unsigned wanted) {
  return make_room(nullptr, worth_per_unit, wanted);
}

/// Demotes superpages of the least worthy owner in favour of `claimant`, or of a claim per unit.
/// False: no owner's superpages are worth clearly less. Precondition: promotion_lock_ or the small
/// heap's is held.
bool BigObjects::make_room(const BigObject *claimant, uint64_t claim, unsigned wanted) {
  if (!config_.may_demote || !region_->short_of_superpages())
    return false;
  SpinGuard guard(lock_);
  if (evict_superpages(1)) // kept superpages serve no live object
    return true;
  const uint64_t now = region_->os().now_ns(); // under the lock: time does not run backwards
  uint64_t halvings =
      aged_ns_ && now > aged_ns_ ? min_of<uint64_t>((now - aged_ns_) / kHalfLifeNs, 63) : 0;
  if (halvings || !aged_ns_)
    aged_ns_ = now;
  Area *from = nullptr;
  UnitIndex victim = 0;
  for (Area &a : areas_) {
    for (UnitIndex unit = 0; unit < a.map.high_water(); unit++) {
      BigObject &o = a.objects[unit];
      if (o.units == 0)
        continue;
      o.worth_ns >>= halvings;
      const bool better = claimant && o.profile_worth > claimant->profile_worth;
      if (&o != claimant && !(better && claimant->profile_worth) &&
          o.superpages > o.pooled.units() &&
          (!from || worth_per_unit(o) < worth_per_unit(from->objects[victim]))) {
        from = &a;
        victim = unit;
      }
      unit += o.units - 1;
    }
  }
  if (claimant)
    claim = worth_per_unit(*claimant);
  unsigned most = min_of(kUnitsAtOnce, wanted);
  // The heap of small objects counts as one more owner; it does not take from itself.
  SmallPages *small = config_.small;
  if (small)
    small->halve_worth(static_cast<unsigned>(halvings));
  if (small && claimant &&
      (!from || small->worth_per_unit() < worth_per_unit(from->objects[victim])) &&
      small->has_superpages())
    return claim > kClearlyMore * small->worth_per_unit() && small->give_up(most) > 0;
  return from && claim > kClearlyMore * worth_per_unit(from->objects[victim]) &&
         take_superpages_from(*from, victim, most) > 0;
}

} // namespace smalloc
