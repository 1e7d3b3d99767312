// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// demoter.cpp decides who gives superpages up when the budget is used up and somebody else would
// gain more: the big object whose superpages saved least per unit lately. "Lately" halves every
// second, so that what has become cold gives way; a claimant must show twice the gain, so that two
// equals do not take from each other for ever (and each promotion must have been paid for anyway).
#include "smalloc/core/big_objects.h"

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

BigObjects::Handle BigObjects::last_demoted() {
  if (SMALLOC_LIKELY(!region_->short_of_superpages()))
    return {};
  SpinGuard guard(lock_);
  Handle loser = last_demoted_;
  last_demoted_ = {};
  return loser && loser.object->units ? loser : Handle{};
}

/// Locked. From its end: objects are mostly used from the front.
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
  if (taken)
    last_demoted_ = {a.slice, head, &o};
  if (taken && &a == &areas_[kBase]) {
    o.fruitless = 0;
    set_pending(o, true); // it may earn them back
  }
  return taken;
}

/// Called while an object is being promoted. False: nobody's superpages are worth clearly less.
bool BigObjects::make_room(BigObject &claimant) {
  if (!config_.may_demote || !region_->short_of_superpages())
    return false;
  uint64_t now = region_->os().now_ns();
  SpinGuard guard(lock_);
  uint64_t halvings = min_of<uint64_t>((now - aged_ns_) / kHalfLifeNs, 63);
  if (halvings)
    aged_ns_ = now;
  Area *from = nullptr;
  UnitIndex victim = 0;
  for (Area &a : areas_) {
    for (UnitIndex unit = 0; unit < a.map.high_water(); unit++) {
      BigObject &o = a.objects[unit];
      if (o.units == 0)
        continue;
      o.worth_ns >>= halvings;
      if (&o != &claimant && o.superpages > o.pooled.units() &&
          (!from || worth_per_unit(o) < worth_per_unit(from->objects[victim]))) {
        from = &a;
        victim = unit;
      }
      unit += o.units - 1;
    }
  }
  return from && worth_per_unit(claimant) > kClearlyMore * worth_per_unit(from->objects[victim]) &&
         take_superpages_from(*from, victim,
                              min_of(kUnitsAtOnce, claimant.whole_units - claimant.superpages)) > 0;
}

} // namespace smalloc
