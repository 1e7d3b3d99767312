// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// big_too_expensive.cpp decides which big objects' superpages at first touch have a price (first_touch_cost.h), and what an object is whose superpages
// turn out to be dear: one that keeps those that it has got so far and waits for the others, on memory that is advised against them.
#include "smalloc/big/big_objects.h"

namespace smalloc {

/// Pages of a pool are there already, and where an object's nodes are named its first toucher matters.
bool BigObjects::has_a_price(const BigRequest &request) const {
  return request.if_cheap && config_.first_touch && !page_fallback_->pools(request.first) &&
         request.placement.kind == numa::PlacementKind::kNone;
}

/// Were superpages dear a moment ago? Kept ones never are.
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

/// Units in the advised slice that nobody else can reach. False: they were dear, and `superpages` is how many there are; for the
/// others the advice has been taken back, which costs kExpensiveMappings.
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
