// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// big_too_expensive.cpp tests whether a big object's superpages at first touch cost too much
// (first_touch_cost.h). If they turn out too expensive during the first touches, the object keeps
// the superpages that it has. Its other units are advised against superpages and wait for
// promotion.
#include "smalloc/big/big_objects.h"

namespace smalloc {

/// True if the object's superpages are timed. Pool pages exist already. For an object with named
/// nodes its first toucher matters.
bool BigObjects::has_a_price(const BigRequest &request) const {
  return request.if_cheap && config_.first_touch && !page_fallback_->pools(request.first) &&
         request.placement.kind == numa::PlacementKind::kNone;
}

/// True if superpages have been too expensive lately. Kept superpages never are.
bool BigObjects::is_too_expensive(UnitIndex whole) {
  if (!config_.first_touch->too_expensive())
    return false;
  {
    SpinGuard guard(lock_);
    if (find_kept(kSuper, whole) != UnitCache::kRuns)
      return false;
  }
  page_fallback_->refused(PageKind::kSuperpage, WhyNot::kExpensive);
  return true;
}

/// Touches units in the advised slice that no other thread can reach. False: they were too
/// expensive, and `superpages` is the number of touched ones. The advice for the others has then
/// been reversed, which costs kExpensiveMappings.
bool BigObjects::touch_at_first_touch(UnitIndex first, UnitIndex whole, UnitIndex &superpages) {
  char *start = address(areas_[kSuper], first);
  const UnitIndex touched =
      config_.first_touch->too_expensive() ? 0 : config_.first_touch->touch(start, whole);
  if (touched == whole || !region_->charge_mappings(kExpensiveMappings))
    return true;
  const size_t done = size_t{touched} * kSuperpageBytes,
               rest = size_t{whole - touched} * kSuperpageBytes;
  if (region_->os().advise(start + done, rest, Advice::kNoSuperpages) != 0) {
    region_->uncharge_mappings(kExpensiveMappings);
    return true;
  }
  page_fallback_->refused(PageKind::kSuperpage, WhyNot::kExpensive);
  superpages = touched;
  return false;
}

} // namespace smalloc
