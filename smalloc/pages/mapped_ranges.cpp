// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/pages/mapped_ranges.h"
#include "smalloc/base/units.h"
#include "smalloc/pages/region.h"

namespace smalloc {
namespace {
constexpr uint64_t kLookPriceNs = 2500; ///< the same as in promoter.cpp
constexpr uint8_t kMostFruitless = 10;
/// Refused collapses in a row after which promote() stops: the kernel is short of something, or the
/// range is gone.
constexpr unsigned kMostFailures = 4;
} // namespace

bool MappedRanges::charge(uint64_t units, bool fresh) {
  if (config_.budget)
    return config_.budget->charge_superpages(units, fresh);
  uint64_t left = left_.load(std::memory_order_relaxed);
  while (left >= units)
    if (left_.compare_exchange_weak(left, left - units, std::memory_order_relaxed))
      return true;
  return false;
}

void MappedRanges::uncharge(uint64_t units) {
  if (config_.budget && units)
    config_.budget->uncharge_superpages(units);
  else
    left_.fetch_add(units, std::memory_order_relaxed);
}

void MappedRanges::forget(Range &range) {
  for (uint32_t i = 0; i < range.units; i += 64) // the rest was never written
    range.is_done[i / 64] = 0;
  range.start = nullptr;
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  __atomic_fetch_sub(config_.pending, 1, __ATOMIC_RELAXED);
}

/// Remembers a range, in place of the oldest one if the table is full. Locked.
void MappedRanges::insert(char *first, uint64_t units) {
  Range *free = nullptr;
  for (Range &r : ranges_)
    if (!r.start)
      free = &r;
  if (!free) {
    free = &ranges_[oldest_++ % kRanges];
    forget(*free);
  }
  free->start = first;
  free->units = static_cast<uint32_t>(min_of<uint64_t>(units, kMostUnits));
  free->next = free->done = free->done_before = free->fruitless = 0;
  free->ledger = Ledger();
  waiting_.fetch_add(1, std::memory_order_relaxed);
  __atomic_fetch_add(config_.pending, 1, __ATOMIC_SEQ_CST);
  if (config_.passes_below)
    config_.passes_below->store(0);
}

/// Advises superpages for the first units. Returns how many units have advice now. Units whose
/// first touch is too expensive get none: `born()` remembers them, and touched() collapses them
/// later.
uint64_t MappedRanges::advise(char *first, uint64_t units, FirstTouchCost *price) {
  const bool expensive = price && price->too_expensive();
  const uint64_t cheap = expensive ? 0 : price ? price->touch_and_advise(first, units) : units;
  if (cheap < units) {
    counters_
        ->not_on[static_cast<unsigned>(PageKind::kSuperpage)]
                [static_cast<unsigned>(WhyNot::kExpensive)]
        .add();
    return cheap;
  }
  const size_t bytes = units * kSuperpageBytes;
  return config_.os->advise(first, bytes, Advice::kSuperpages) == 0 ? units : 0;
}

void MappedRanges::born(char *start, size_t bytes, bool all_written, FirstTouchCost *price,
                        bool promotable) {
  auto from = align_up(reinterpret_cast<uintptr_t>(start), kSuperpageBytes);
  auto to = align_down(reinterpret_cast<uintptr_t>(start) + bytes, kSuperpageBytes);
  if (from >= to || !lock_.try_lock())
    return;
  auto *first = reinterpret_cast<char *>(from);
  const uint64_t units = (to - from) / kSuperpageBytes;
  // Old entries for these addresses describe mappings that are gone.
  for (Range &r : ranges_)
    if (r.start && r.start < first + units * kSuperpageBytes &&
        first < r.start + size_t{r.units} * kSuperpageBytes) {
      // If the old range was unmapped as a whole, return its charge. If only a part was, the number
      // of its superpages is unknown.
      if (r.start >= first &&
          r.start + size_t{r.units} * kSuperpageBytes <= first + units * kSuperpageBytes)
        uncharge(r.done);
      forget(r);
    }
  lock_.unlock();
  const bool at_first_touch = all_written && charge(units, /*fresh=*/true);
  const uint64_t advised = at_first_touch ? advise(first, units, price) : 0; // takes a while
  counters_->mapped_superpages_advised.add(advised);
  if (at_first_touch)
    uncharge(units - advised);
  if (advised == units || !promotable)
    return;
  lock_.lock(); // waits for the lock once: the earlier work must not be lost
  insert(first + advised * kSuperpageBytes, units - advised);
  lock_.unlock();
}

/// Returns the range that holds p. Accepts a p in the part of a mapping before its first whole
/// superpage. Locked.
MappedRanges::Range *MappedRanges::find(const char *p) {
  for (Range &r : ranges_)
    if (r.start && p + kSuperpageBytes >= r.start &&
        p < r.start + (size_t{r.units} + 1) * kSuperpageBytes)
      return &r;
  return nullptr;
}

/// Collapses the range's next unit if it is dense. `failures`: refused collapses in a row. False:
/// the budget or the kernel refuses superpages, so further units would get none now. Locked.
bool MappedRanges::promote_next(Range &r, Price &price, unsigned &failures) {
  const OsHooks &os = *config_.os;
  char *unit = r.start + size_t{r.next} * kSuperpageBytes;
  uint64_t &word = r.is_done[r.next / 64];
  const uint64_t bit = uint64_t{1} << (r.next % 64);
  if (word & bit)
    return true;
  r.ledger.pay(kLookPriceNs);
  if (os.resident_pages(unit, kSuperpageBytes) < kDensePages) {
    counters_->units_too_sparse.add();
    return true;
  }
  if (!charge(1, /*fresh=*/false)) {
    r.fruitless++; // the budget may have room later
    return false;
  }
  const uint64_t before = os.now_ns();
  const int error = os.collapse(unit, kSuperpageBytes);
  const uint64_t took = os.now_ns() - before;
  r.ledger.pay(took);
  if (error == 0) {
    price.measured(took);
    counters_->mapped_superpages_promoted.add();
    word |= bit;
    r.done++;
    r.fruitless = 0;
    failures = 0;
    return true;
  }
  uncharge(1);
  if (++failures < kMostFailures)
    return true;
  r.fruitless++;
  return false;
}

/// Promotes units of the range while its credit pays, for `pause_ns` at most. Ends with the round:
/// each unit is examined once. Locked.
void MappedRanges::promote(Range &r, Price &price, uint64_t pause_ns, bool eager) {
  const uint64_t began = config_.os->now_ns();
  unsigned failures = 0;
  while (r.done < r.units && r.fruitless < kMostFruitless &&
         (eager || r.ledger.covers(price.ns() + static_cast<int64_t>(kLookPriceNs)))) {
    if (!promote_next(r, price, failures))
      return;
    if (++r.next == r.units) {
      r.next = 0;
      if (r.done_before == r.done)
        r.fruitless++;
      r.done_before = r.done;
    }
    if (r.next == 0 || config_.os->now_ns() - began >= pause_ns)
      return;
  }
}

void MappedRanges::touched(const void *p, const Worth &worth, Price &price, uint64_t least_pause_ns,
                           bool eager) {
  if (!any() || !lock_.try_lock())
    return;
  if (Range *r = find(static_cast<const char *>(p))) {
    const uint64_t credit = worth.of(size_t{r->units} * kSuperpageBytes, worth.data);
    r->ledger.earn(credit);
    promote(*r, price, max_of(least_pause_ns, credit), eager);
    if (r->done >= r->units || r->fruitless >= kMostFruitless)
      forget(*r);
  }
  lock_.unlock();
}

} // namespace smalloc
