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
/// Rounds without a promotion after which an object waits no longer. The pauses between them add up
/// to 1,023 promotion points.
constexpr unsigned kMostFruitless = 10;
} // namespace

/// Adds credit to an object that waits for promotion. True if the object is due for a look now.
/// The pause avoids looks for small nests. A nest that is worth far more than the look gets it.
/// Precondition: promotion_lock_ is held.
bool BigObjects::earns_a_look(BigObject &o, uint64_t credit_ns, bool eager) {
  {
    SpinGuard guard(lock_);
    if (o.units == 0 || !o.pending)
      return false;
    o.worth_ns += credit_ns;
  }
  o.ledger.earn(credit_ns);
  const bool worth_a_look =
      !o.refused && credit_ns / kLooksInCredit >= kLookPriceNs * o.whole_units;
  if (o.skipped < o.pause && !eager && !worth_a_look) {
    o.skipped++;
    return false;
  }
  o.skipped = 0;
  o.refused = false;
  return true;
}

/// Collapses a dense unit of the object at the object's cost. Returns 0 or the kernel's error;
/// ENOSPC: the budget is used up, and no other object gives way. Precondition: promotion_lock_ is
/// held.
int BigObjects::promote_unit(Area &a, UnitIndex unit, BigObject &o, Price &price) {
  char *start = address(a, unit);
  uint64_t took;
  int error = region_->promote(start, took);
  if (error == ENOSPC && make_room(&o, 0, o.whole_units - o.superpages))
    error = region_->promote(start, took);
  o.ledger.pay(took);
  if (error != 0)
    return error;
  price.measured(took);
  SpinGuard guard(lock_);
  set_superpage(a, unit, true);
  o.superpages++;
  o.mappings += &a == &areas_[kSuper];
  return 0;
}

/// Sets the object's pause by what its last looks have found: `looked` units were examined,
/// `promoted` of them collapsed. `all_seen`: there is no further unit to examine. Looks are counted
/// over several calls: the credit of one call may pay for only a few.
void BigObjects::note_looks(BigObject &o, uint32_t looked, uint32_t promoted, bool all_seen) {
  o.looks += looked;
  o.finds += promoted;
  const bool round = all_seen || o.looks >= o.whole_units;
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
}

void BigObjects::promote(Handle handle, Price &price, uint64_t credit_ns, uint64_t pause_ns,
                         bool eager) {
  if (!handle || !promotion_lock_.try_lock())
    return;
  BigObject &o = *handle.object;
  Area &a = areas_[handle.slice == areas_[kSuper].slice ? kSuper : kBase];
  if (!earns_a_look(o, credit_ns, eager)) {
    promotion_lock_.unlock();
    return;
  }
  const OsHooks &os = region_->os();
  uint64_t began = os.now_ns();
  uint32_t seen = 0, looked = 0, promoted = 0;
  unsigned failures = 0;
  bool stopped = false;
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
    o.next_unit++;
    if (os.resident_pages(address(a, unit), kSuperpageBytes) < kDensePages) {
      region_->counters().units_too_sparse.add();
    } else if (const int error = promote_unit(a, unit, o, price); error == 0) {
      promoted++;
      failures = 0;
    } else if (error == ENOSPC || ++failures == kMostFailures) {
      seen = o.whole_units; // counts like a round without success
      o.refused = true;
      break;
    }
    if (os.now_ns() - began >= pause_ns) {
      seen++;
      stopped = true;
      break;
    }
  }
  funded_.store(stopped && o.ledger.covers(price.ns()), std::memory_order_relaxed);
  note_looks(o, looked, promoted, seen >= o.whole_units);
  if (o.superpages == o.whole_units || o.fruitless >= kMostFruitless) {
    SpinGuard guard(lock_);
    set_pending(o, false);
  }
  promotion_lock_.unlock();
}

void BigObjects::promote_by_time(Handle handle, Price &price, uint64_t elapsed_ns,
                                 uint64_t pause_ns, bool eager) {
  if (!handle)
    return;
  const bool any_order = __atomic_load_n(&handle.object->any_order, __ATOMIC_RELAXED);
  promote(handle, price,
          elapsed_ns / (any_order ? kTimePerCollapseTimeInAnyOrder : kTimePerCollapseTime),
          pause_ns, eager);
}

} // namespace smalloc
