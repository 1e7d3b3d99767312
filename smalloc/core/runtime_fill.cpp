// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime_fill.cpp handles a fill point of the compiler: the program is about to write a range of
// memory. Superpages for it then cost no memory, and one page fault each instead of 512.
#include "smalloc/base/keep_errno.h"
#include "smalloc/core/runtime.h"

namespace smalloc {

/// Gives the range superpages if at least 7/8 of it are written (heap:auto). Under a budget
/// superpages belong to the objects with the most expensive page walks, about which a fill says
/// nothing.
void Runtime::filling(const void *p, uint64_t range, uint64_t written) {
  if (!g_range.contains(p) || !running() || strategy_ != HeapStrategy::kAuto ||
      options_.promote == PromotePolicy::kOff || options_.budget_bytes || options_.budget_percent ||
      big_.pending() == 0)
    return;
  // An unsigned product may have wrapped, and a step may be negative.
  if (range > PTRDIFF_MAX || written > PTRDIFF_MAX || written < range - range / 8)
    return;
  const Slice slice = region_.slice_of(p);
  if (slice != Slice::kBigBase && slice != Slice::kBigSuper)
    return;
  KeepErrno keep;
  const BigObjects::Handle h = big_.find_soon(p);
  if (!h || !h.object->pending || !locks_come_free())
    return;
  const uint64_t all = h.object->bytes; // rounded up
  if (range == 0 && written < all - all / 8)
    return;
  big_.fill(h, p, range);
  g_accounts.big_promoted(region_.unit_address(h.slice, h.head), h.object->superpages);
}

} // namespace smalloc
