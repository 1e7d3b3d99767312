// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// promoter.cpp collapses units of a big object at a promotion point. Dense units (kDensePages)
// become superpages, one at a time, while the object's credit pays. An object that stays sparse is
// examined less and less often, and finally never: a scan reads one byte per page from the kernel.
#include "smalloc/big/big_objects.h"

#include <errno.h>

namespace smalloc {
namespace {
/// Cost of reading one unit's residency from the kernel, in ns (measured: 1-4 us; populated units
/// cost more).
constexpr uint64_t kLookPriceNs = 2500;
/// Examined units per promoted one above which examining costs as much as it gains.
constexpr uint32_t kLooksPerPromotion = 8;
constexpr uint16_t kMostPauseWhileFilling = 256;
/// Examining may cost 1/64 of the savings that one promotion point expects.
constexpr uint64_t kLooksInCredit = 64;
/// Consecutive failures after which the kernel lacks some resource: try later.
constexpr unsigned kMostFailures = 4;
/// Rounds; the pauses between them add up to 1,023 promotion points.
constexpr unsigned kMostFruitless = 10;
} // namespace

void BigObjects::promote(Handle handle, Price &price, uint64_t credit_ns, uint64_t pause_ns,
                         bool eager) {
  if (!handle || !promotion_lock_.try_lock())
    return;
  BigObject &o = *handle.object;
  Area &a = areas_[handle.slice == areas_[kSuper].slice ? kSuper : kBase];
  bool live;
  {
    SpinGuard guard(lock_);
    live = o.units != 0 && o.pending;
    if (live)
      o.worth_ns += credit_ns;
  }
  if (live)
    o.ledger.earn(credit_ns);
  // The pause avoids looks for small nests. A nest that is worth far more than the look gets it.
  bool worth_a_look = !o.refused && credit_ns / kLooksInCredit >= kLookPriceNs * o.whole_units;
  if (!live || (o.skipped < o.pause && !eager && !worth_a_look)) {
    if (live)
      o.skipped++;
    promotion_lock_.unlock();
    return;
  }
  o.skipped = 0;
  o.refused = false;
  const OsHooks &os = region_->os();
  uint64_t began = os.now_ns();
  uint32_t seen = 0, looked = 0, promoted = 0;
  unsigned failures = 0;
  for (; seen < o.whole_units; seen++) {
    if (o.next_unit >= o.whole_units)
      o.next_unit = 0;
    UnitIndex unit = handle.head + o.next_unit;
    if (is_superpage(a, unit)) {
      o.next_unit++;
      continue;
    }
    if (!eager && !o.ledger.covers(price.ns() + static_cast<int64_t>(kLookPriceNs)))
      break;
    o.ledger.pay(kLookPriceNs);
    looked++;
    char *start = address(a, unit);
    o.next_unit++;
    if (os.resident_pages(start, kSuperpageBytes) < kDensePages) {
      region_->counters().units_too_sparse.add();
    } else {
      uint64_t took;
      int error = region_->promote(start, took);
      if (error == ENOSPC && make_room(&o, 0, o.whole_units - o.superpages))
        error = region_->promote(start, took);
      o.ledger.pay(took);
      if (error == 0) {
        price.measured(took);
        SpinGuard guard(lock_);
        set_superpage(a, unit, true);
        o.superpages++;
        o.mappings += &a == &areas_[kSuper];
        promoted++;
        failures = 0;
      } else if (error == ENOSPC || ++failures == kMostFailures) {
        seen = o.whole_units; // counts like a round without success
        o.refused = true;
        break;
      }
    }
    if (os.now_ns() - began >= pause_ns) {
      seen++;
      break;
    }
  }
  // Looks are counted over several calls: the credit of one call may pay for only a few.
  o.looks += looked;
  o.finds += promoted;
  bool round = seen >= o.whole_units || o.looks >= o.whole_units;
  if (promoted)
    o.fruitless = 0;
  if (o.finds * kLooksPerPromotion >= o.looks && o.finds) {
    o.pause = 0;
  } else if (round) { // nothing found, or the object fills slowly: most looks still find it sparse
    o.fruitless = static_cast<uint8_t>(o.fruitless + (o.finds == 0));
    uint16_t longest = o.finds ? kMostPauseWhileFilling : UINT16_MAX;
    o.pause = static_cast<uint16_t>(min_of<uint32_t>(o.pause ? o.pause * 2u : 1u, longest));
  }
  if (round)
    o.looks = o.finds = 0;
  if (o.superpages == o.whole_units || o.fruitless >= kMostFruitless) {
    SpinGuard guard(lock_);
    set_pending(o, false);
  }
  promotion_lock_.unlock();
}

} // namespace smalloc
