// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// big_dear.cpp decides which big objects' superpages at birth have a price (birth_price.h), and where an object lies when they turn
// out to be dear: among those that start on base pages, with the superpages that it has got so far.
#include "smalloc/core/big_objects.h"

namespace smalloc {

/// Pages of a pool are there already, and where an object's nodes are named its first toucher matters.
bool BigObjects::has_a_price(const BigRequest &request) const {
  return request.if_cheap && config_.birth && !ladder_->pools(request.first) &&
         request.alignment <= kSuperpageBytes &&
         request.placement.kind == numa::PlacementKind::kNone;
}

/// Were superpages dear a moment ago? Kept ones never are.
bool BigObjects::is_dear(UnitIndex whole) {
  if (!config_.birth->is_dear())
    return false;
  {
    SpinGuard guard(lock_);
    if (find_kept(kSuper, whole) != UnitCache::kRuns)
      return false;
  }
  ladder_->refused(PageKind::kSuperpage, WhyNot::kDear);
  return true;
}

/// Units in the advised slice that nobody else can reach. False: they were dear, and what has become of them is in the arguments;
/// superpages: how many there are.
bool BigObjects::touch_at_birth(unsigned &index, UnitIndex &first, size_t committed,
                                UnitIndex whole, UnitIndex &superpages) {
  UnitIndex touched = config_.birth->touch(address(areas_[kSuper], first), whole);
  if (touched == whole || !move_to_base(first, committed, touched))
    return true;
  ladder_->refused(PageKind::kSuperpage, WhyNot::kDear);
  index = kBase;
  superpages = touched;
  return false;
}

/// False: no room, and nothing has changed. What cannot be moved is lost: nobody has written to it.
bool BigObjects::move_to_base(UnitIndex &first, size_t committed, UnitIndex &touched) {
  Area &from = areas_[kSuper], &to = areas_[kBase];
  const auto units = static_cast<UnitIndex>(units_for(committed));
  if (!region_->charge_mappings(1))
    return false;
  region_->advise_slice(to.slice);
  UnitIndex target;
  {
    SpinGuard guard(lock_);
    target = to.map.take(units);
  }
  if (target == kNoUnit || !commit_units(to, target, committed)) {
    region_->uncharge_mappings(1);
    if (target != kNoUnit) {
      SpinGuard guard(lock_);
      drop(to, target, units, committed);
    }
    return false;
  }
  if (!region_->charge_moved(touched))
    touched = 0;
  const size_t bytes = size_t{touched} * kSuperpageBytes;
  if (touched && region_->os().move(address(from, first), address(to, target), bytes) != 0) {
    region_->uncharge_moved(touched);
    touched = 0;
  }
  SpinGuard guard(lock_);
  drop(from, first, units, committed);
  first = target;
  return true;
}

} // namespace smalloc
