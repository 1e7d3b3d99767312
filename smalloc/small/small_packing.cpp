// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// small_packing.cpp selects the size classes to fill: those with more than kClassRoomPercent of
// their slabs free, while more than kRoomPercent of all slabs is. It stops when the cost has used
// up 1 % of the time that has passed.
#include "smalloc/small/small_packing.h"
#include "smalloc/base/units.h"

namespace smalloc {

bool SmallPacking::due(uint64_t now_ns) {
  uint64_t due = due_ns_.load(std::memory_order_relaxed);
  return now_ns >= due &&
         due_ns_.compare_exchange_strong(due, now_ns + kLookNs, std::memory_order_acq_rel);
}

void SmallPacking::counted(const ClassCensus *classes, unsigned count, uint64_t now_ns) {
  const uint64_t before = counted_ns_.exchange(now_ns, std::memory_order_relaxed);
  if (before && now_ns > before) {
    const int64_t had = credit_ns_.load(std::memory_order_relaxed);
    const int64_t earned = min_of(static_cast<int64_t>((now_ns - before) / 100), kMostCreditNs);
    credit_ns_.fetch_add(min_of(earned, max_of<int64_t>(kMostCreditNs - had, 0)),
                         std::memory_order_relaxed);
  }
  uint64_t room = 0, slabs = 0, wanted = 0;
  for (unsigned i = 0; i < count && i < kMostClasses; i++) {
    const ClassCensus &c = classes[i];
    const uint64_t free_bytes = c.slab_bytes > c.live_bytes ? c.slab_bytes - c.live_bytes : 0;
    room += free_bytes;
    slabs += c.slab_bytes;
    if (free_bytes > c.slab_bytes / 100 * kClassRoomPercent)
      wanted |= uint64_t{1} << i;
  }
  const bool much = room >= kLeastRoomBytes && room > slabs / 100 * kRoomPercent;
  classes_.store(much && credit_ns_.load(std::memory_order_relaxed) > 0 ? wanted : 0,
                 std::memory_order_relaxed);
}

void SmallPacking::pay(bool packed) {
  packed_.fetch_add(packed, std::memory_order_relaxed);
  const int64_t price = packed ? kPackedNs : kOtherNs;
  if (credit_ns_.fetch_sub(price, std::memory_order_relaxed) <= price)
    classes_.store(0, std::memory_order_relaxed);
}

} // namespace smalloc
