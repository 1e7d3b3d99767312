// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// big_objects.cpp decides the life of a big object: where it starts, what backs it, how it is
// resized and what becomes of its units. System calls that touch pages happen outside the table
// lock, on units that nobody else can reach.
#include "smalloc/core/big_objects.h"

#include <errno.h>
#include <string.h>

namespace smalloc {
namespace {
constexpr size_t kMostStaggerPages = 8;
/// Freed objects above this are released at once: glibc, too, gives an mmapped chunk above
/// M_MMAP_THRESHOLD_MAX back.
constexpr uint64_t kMostKeptObjectBytes = uint64_t{32} << 20;
} // namespace

bool BigObjects::init(Region &region, const Config &config) {
  region_ = &region;
  config_ = config;
  areas_[kBase].slice = Slice::kBigBase;
  areas_[kSuper].slice = Slice::kBigSuper;
  for (Area &a : areas_) {
    UnitIndex units = region.slice_units(a.slice) - 1; // the slice's guard
    size_t words = (size_t{units} + 63) / 64;
    auto *bits = static_cast<uint64_t *>(region.table(words * 2 * sizeof(uint64_t)));
    a.objects = static_cast<BigObject *>(region.table(units * sizeof(BigObject)));
    a.head_of = static_cast<uint32_t *>(region.table(units * sizeof(uint32_t)));
    if (!bits || !a.objects || !a.head_of)
      return false;
    a.superpage = bits + words;
    a.map.init(bits, units, region.slice_start(a.slice) / kSuperpageBytes);
  }
  return true;
}

void BigObjects::lock_all() {
  promotion_lock_.lock();
  lock_.lock();
}
void BigObjects::unlock_all() {
  lock_.unlock();
  promotion_lock_.unlock();
}

/// Distance of an object's start from its unit's start. Objects that all start at the same offset
/// of a superpage fall into the same cache sets: four grids walked together evict each other. The
/// line within the page spreads the first level, the page spreads the second; 8 pages at most,
/// because what the start takes, the end needs behind it.
size_t BigObjects::stagger(size_t alignment) {
  if (alignment > kMostStaggerPages * kBasePageBytes)
    return 0;
  uint32_t k = stagger_.fetch_add(1, std::memory_order_relaxed);
  constexpr size_t kLines = kBasePageBytes / kCacheLineBytes;
  size_t offset = (k % kMostStaggerPages) * kBasePageBytes + (k * 9 % kLines) * kCacheLineBytes;
  return align_up(offset, max_of(alignment, kCacheLineBytes)) %
         (kMostStaggerPages * kBasePageBytes);
}

void BigObjects::set_superpage(Area &a, UnitIndex unit, bool on) {
  uint64_t bit = uint64_t{1} << (unit % 64);
  if (on)
    a.superpage[unit / 64] |= bit;
  else
    a.superpage[unit / 64] &= ~bit;
}

void BigObjects::set_pending(BigObject &object, bool on) {
  if (object.pending == on)
    return;
  object.pending = on;
  if (on)
    pending_.fetch_add(1, std::memory_order_relaxed);
  else
    pending_.fetch_sub(1, std::memory_order_relaxed);
  region_->add_pending(on ? 1 : -1);
}

void BigObjects::note_live(uint64_t added, uint64_t removed) {
  Counters &c = region_->counters();
  c.big_bytes_now.add(added);
  c.big_bytes_now.sub(removed);
  c.big_bytes_peak.raise(c.big_bytes_now.get());
}

uint64_t BigObjects::cache_limit() const {
  uint64_t rule = max_of<uint64_t>(region_->counters().big_bytes_peak.get() / 50, 512u << 10);
  return min_of(config_.cache_bytes, max_of(rule, cache_.proven_bytes));
}

/// Units for an object, from the kept ones if a run of them fits. kept: how many at the front still
/// have old contents.
UnitIndex BigObjects::take_units(Area &a, unsigned index, UnitIndex units, UnitIndex whole,
                                 UnitIndex alignment, UnitIndex &kept) {
  kept = 0;
  unsigned best = UnitCache::kRuns;
  for (unsigned i = 0; i < cache_.size && alignment == 1; i++) {
    const UnitCache::Run &run = cache_.runs[i];
    if (run.slice != index || run.count < whole)
      continue;
    if (best == UnitCache::kRuns || run.count < cache_.runs[best].count)
      best = i;
  }
  if (best != UnitCache::kRuns) {
    UnitCache::Run &run = cache_.runs[best];
    UnitIndex first = run.first;
    // A tail lies behind the whole units: either in a kept unit, whose old contents go, or in a
    // free one.
    bool tail = units > whole;
    if (run.count > whole || !tail || a.map.take_at(first + run.count, units - whole)) {
      UnitIndex used = min_of(run.count, units);
      if (tail && used > whole) {
        region_->decommit(a.slice, address(a, first + whole), kSuperpageBytes);
        region_->demoted(address(a, first + whole), kSuperpageBytes,
                         clear_superpages(a, first + whole, 1));
        region_->counters().pages_released.add(kPagesPerUnit);
      }
      cache_.kept_bytes -= uint64_t{used} * kSuperpageBytes;
      run.first += used;
      run.count -= used;
      if (run.count == 0)
        run = cache_.runs[--cache_.size];
      kept = whole;
      region_->counters().units_reused.add(whole);
      return first;
    }
  }
  uint64_t bytes = uint64_t{whole} * kSuperpageBytes;
  if (cache_.regret_bytes >= bytes && bytes <= kMostKeptObjectBytes) {
    cache_.regret_bytes -= bytes;
    cache_.proven_bytes = min_of(config_.cache_bytes, cache_.proven_bytes + bytes);
  }
  return a.map.take(units, alignment);
}

bool BigObjects::commit_units(Area &a, UnitIndex first, size_t bytes) {
  return bytes == 0 || region_->os().commit(address(a, first), bytes) == 0;
}

void *BigObjects::allocate(const BigRequest &request) {
  bool at_birth = request.superpages_at_birth && region_->superpages_allowed();
  size_t most = size_t{region_->slice_units(Slice::kBigBase)} * kSuperpageBytes;
  if (request.bytes == 0 || request.bytes > most)
    return nullptr;
  size_t offset = stagger(request.alignment);
  size_t committed = align_up(offset + request.bytes, kBasePageBytes);
  if (request.whole_superpages)
    committed = align_up(committed, kSuperpageBytes);
  auto whole = static_cast<UnitIndex>(committed / kSuperpageBytes);
  auto units = static_cast<UnitIndex>(units_for(committed));
  // Superpages at birth are charged before they are touched; over the budget the object starts on
  // base pages.
  if (at_birth && !region_->charge_superpages(whole))
    at_birth = false;
  unsigned index = at_birth ? kSuper : kBase;
  Area &a = areas_[index];
  auto alignment = static_cast<UnitIndex>(max_of<size_t>(request.alignment / kSuperpageBytes, 1));
  if (!region_->charge_mappings(2)) {
    if (at_birth)
      region_->uncharge_superpages(whole);
    return nullptr;
  }
  region_->advise_slice(a.slice);

  UnitIndex kept, first;
  {
    SpinGuard guard(lock_);
    first = take_units(a, index, units, whole, alignment, kept);
  }
  size_t kept_bytes = size_t{kept} * kSuperpageBytes;
  if (first == kNoUnit || !commit_units(a, first + kept, committed - kept_bytes)) {
    SpinGuard guard(lock_);
    if (first != kNoUnit)
      drop(a, first, units, committed);
    region_->uncharge_mappings(2);
    if (at_birth)
      region_->uncharge_superpages(whole);
    return nullptr;
  }
  bool hugetlb = at_birth && config_.hugetlb && kept == 0 && whole != 0;
  if (hugetlb) {
    int error = region_->os().map_hugetlb(address(a, first), size_t{whole} * kSuperpageBytes);
    hugetlb = error == 0;
    if (!hugetlb)
      region_->advise_range(a.slice, address(a, first), size_t{whole} * kSuperpageBytes);
    (hugetlb ? region_->counters().hugetlb_units : region_->counters().hugetlb_refused)
        .add(hugetlb ? whole : 1);
  }
  if (request.zero && kept)
    memset(address(a, first) + offset, 0, min_of(kept_bytes - offset, request.bytes));

  uint32_t already = 0;
  SpinGuard guard(lock_);
  BigObject &o = a.objects[first];
  o = BigObject{};
  o.bytes = committed - offset;
  o.units = units;
  o.offset = static_cast<uint32_t>(offset);
  o.whole_units = whole;
  o.hugetlb = hugetlb;
  o.mappings = 2;
  for (UnitIndex i = 0; i < units; i++)
    a.head_of[first + i] = i;
  for (UnitIndex i = 0; i < whole; i++) {
    if (i < kept)
      already += is_superpage(a, first + i);
    else if (at_birth)
      set_superpage(a, first + i, true);
  }
  o.superpages = at_birth ? already + whole - kept : already;
  if (at_birth) {
    region_->uncharge_superpages(
        kept); // they were charged before, or are base pages: once the tail of an object
    region_->counters().superpages_at_birth.add(whole - kept);
  } else {
    set_pending(o, request.promotable && region_->superpages_allowed() && o.superpages < whole);
  }
  region_->counters().big_objects.add();
  region_->counters().big_objects_now.add();
  region_->counters().big_bytes.add(o.bytes);
  note_live(o.bytes, 0);
  return address(a, first) + offset;
}

BigObjects::Handle BigObjects::find(const void *p) {
  Area &a = area_of(p);
  UnitIndex unit = region_->unit_of(a.slice, p);
  SpinGuard guard(lock_);
  if (!a.map.is_taken(unit))
    return {};
  UnitIndex distance = a.head_of[unit];
  if (distance > unit)
    return {};
  BigObject &o = a.objects[unit - distance];
  if (o.units <= distance)
    return {};
  return {a.slice, unit - distance, &o};
}

size_t BigObjects::usable_bytes(const void *p) const {
  Handle h = const_cast<BigObjects *>(this)->find(p);
  if (!h)
    return 0;
  return region_->unit_address(h.slice, h.head) + h.object->offset + h.object->bytes -
         static_cast<const char *>(p);
}

UnitIndex BigObjects::clear_superpages(Area &a, UnitIndex first, UnitIndex count) {
  UnitIndex cleared = 0;
  for (UnitIndex i = first; i < first + count; i++) {
    cleared += is_superpage(a, i);
    set_superpage(a, i, false);
  }
  return cleared;
}

/// Gives units back to the system and to the map. bytes_used: committed ones from the first unit
/// on. Locked; the lock is open while the system frees the pages, which for a gigabyte takes a
/// while: until the map knows that the units are free, nobody else can get them.
void BigObjects::drop(Area &a, UnitIndex first, UnitIndex count, size_t bytes_used) {
  UnitIndex promoted = clear_superpages(a, first, count);
  lock_.unlock();
  if (bytes_used)
    region_->decommit(a.slice, address(a, first), bytes_used);
  region_->demoted(address(a, first), size_t{count} * kSuperpageBytes, promoted);
  lock_.lock();
  region_->counters().pages_released.add(bytes_used / kBasePageBytes);
  a.map.give_back(first, count);
}

void BigObjects::evict_beyond(uint64_t limit) {
  while (cache_.size && cache_.kept_bytes > limit) {
    UnitCache::Run run = cache_.runs[0]; // the oldest
    for (unsigned i = 1; i < cache_.size; i++)
      cache_.runs[i - 1] = cache_.runs[i];
    cache_.size--;
    uint64_t bytes = uint64_t{run.count} * kSuperpageBytes;
    cache_.kept_bytes -= bytes;
    cache_.regret_bytes = min_of(cache_.regret_bytes + bytes, config_.cache_bytes);
    drop(areas_[run.slice], run.first, run.count, bytes);
  }
}

void BigObjects::release_units(Area &a, UnitIndex first, UnitIndex count, size_t bytes_used,
                               bool keep) {
  auto whole = static_cast<UnitIndex>(bytes_used / kSuperpageBytes);
  uint64_t whole_bytes = uint64_t{whole} * kSuperpageBytes;
  uint64_t limit = cache_limit();
  if (!keep || whole == 0 || whole_bytes > kMostKeptObjectBytes || whole_bytes > limit) {
    if (keep && whole_bytes <= kMostKeptObjectBytes)
      cache_.regret_bytes = min_of(cache_.regret_bytes + whole_bytes, config_.cache_bytes);
    drop(a, first, count, bytes_used);
    return;
  }
  if (count > whole)
    drop(a, first + whole, count - whole, bytes_used - whole_bytes);
  if (cache_.size == UnitCache::kRuns)
    evict_beyond(cache_.kept_bytes - 1);
  evict_beyond(limit - whole_bytes);
  cache_.runs[cache_.size++] = {first, whole, static_cast<uint8_t>(&a == &areas_[kSuper])};
  cache_.kept_bytes += whole_bytes;
}

bool BigObjects::release(void *p) {
  Handle h = find(p);
  if (!h || region_->unit_address(h.slice, h.head) + h.object->offset != p)
    return false;
  // Nobody may be collapsing units that are about to become somebody else's.
  bool promoting = h.object->pending;
  if (promoting)
    promotion_lock_.lock();
  {
    SpinGuard guard(lock_);
    Area &a = area_of(p);
    BigObject &o = *h.object;
    size_t used = o.offset + o.bytes;
    set_pending(o, false);
    region_->counters().big_objects_now.sub(1);
    note_live(0, o.bytes);
    region_->uncharge_mappings(o.mappings);
    UnitIndex units = o.units;
    bool hugetlb = o.hugetlb;
    UnitIndex whole = o.whole_units;
    o.units = 0;
    if (hugetlb)
      region_->os().unmap_hugetlb(address(a, h.head), size_t{whole} * kSuperpageBytes);
    release_units(a, h.head, units, used, !hugetlb);
  }
  if (promoting)
    promotion_lock_.unlock();
  return true;
}

/// Locked, and no promotion is going on.
void *BigObjects::resize_in_place(Area &a, UnitIndex head, BigObject &o, size_t bytes) {
  const OsHooks &os = region_->os();
  size_t before = o.offset + o.bytes;
  size_t after = align_up(o.offset + bytes, kBasePageBytes);
  auto units = static_cast<UnitIndex>(units_for(after));
  auto whole = static_cast<UnitIndex>(after / kSuperpageBytes);
  char *start = address(a, head);
  if (after > before) {
    if (units > o.units && !a.map.take_at(head + o.units, units - o.units))
      return nullptr;
    if (os.commit(start + before, after - before) != 0) {
      region_->decommit(a.slice, start + before, after - before);
      if (units > o.units)
        a.map.give_back(head + o.units, units - o.units);
      return nullptr;
    }
  } else if (after < before) {
    // Whole superpages go back whole; what is cut off the last one's unit becomes a tail again.
    size_t keep_in_unit = min_of(before, size_t{units} * kSuperpageBytes);
    if (keep_in_unit > after)
      region_->decommit(a.slice, start + after, keep_in_unit - after);
    if (whole < units && whole < o.whole_units) {
      UnitIndex cut = clear_superpages(a, head + whole, 1);
      region_->demoted(address(a, head + whole), kSuperpageBytes, cut);
    }
    o.superpages = 0;
    for (UnitIndex i = 0; i < whole; i++)
      o.superpages += is_superpage(a, head + i);
    region_->counters().pages_released.add((keep_in_unit - after) / kBasePageBytes);
  }
  for (UnitIndex i = o.units; i < units; i++)
    a.head_of[head + i] = i;
  note_live(after > before ? after - before : 0, after < before ? before - after : 0);
  o.bytes = after - o.offset;
  UnitIndex units_before = o.units;
  o.units = units;
  if (a.slice == Slice::kBigSuper) {
    // The unit that held the tail has base pages in it and keeps them.
    UnitIndex fresh = static_cast<UnitIndex>(units_for(before));
    for (UnitIndex i = max_of(o.whole_units, fresh); i < whole; i++) {
      if (!region_->charge_superpages(1))
        continue; // the kernel may give one all the same: the budget is on what we ask for
      set_superpage(a, head + i, true);
      region_->counters().superpages_at_birth.add();
      o.superpages++;
    }
    o.whole_units = whole;
  } else {
    o.whole_units = whole;
    o.fruitless = 0;
    o.next_unit = 0;
    set_pending(o, o.superpages < whole && region_->superpages_allowed());
  }
  if (units < units_before) // last: it opens the lock for a while
    release_units(a, head + units, units_before - units, before - size_t{units} * kSuperpageBytes,
                  true);
  return start + o.offset;
}

void *BigObjects::move_to_larger(Area &a, UnitIndex head, size_t bytes) {
  BigObject &o = a.objects[head];
  size_t before = o.offset + o.bytes;
  size_t after = align_up(o.offset + bytes, kBasePageBytes);
  auto units = static_cast<UnitIndex>(units_for(after));
  UnitIndex to = a.map.take(units);
  if (to == kNoUnit)
    return nullptr;
  const OsHooks &os = region_->os();
  char *from = address(a, head), *target = address(a, to);
  if (os.commit(target, after) != 0 || os.move(from, target, before) != 0) {
    region_->decommit(a.slice, target, after);
    a.map.give_back(to, units);
    return nullptr;
  }
  BigObject &n = a.objects[to];
  n = o;
  n.pending = false;
  n.units = units;
  n.bytes = after - o.offset;
  n.whole_units = static_cast<UnitIndex>(after / kSuperpageBytes);
  n.superpages = 0;
  for (UnitIndex i = 0; i < units; i++)
    a.head_of[to + i] = i;
  for (UnitIndex i = 0; i < o.units; i++) {
    if (!is_superpage(a, head + i))
      continue;
    set_superpage(a, head + i, false);
    set_superpage(a, to + i, true);
    n.superpages++;
  }
  if (a.slice == Slice::kBigSuper) {
    for (UnitIndex i = o.units; i < n.whole_units; i++) {
      if (!region_->charge_superpages(1))
        continue;
      set_superpage(a, to + i, true);
      region_->counters().superpages_at_birth.add();
      n.superpages++;
    }
  } else {
    set_pending(n, n.superpages < n.whole_units && region_->superpages_allowed());
  }
  set_pending(o, false);
  note_live(n.bytes - o.bytes, 0);
  UnitIndex old_units = o.units;
  char *result = target + n.offset;
  o.units = 0;
  region_->counters().moves.add();
  region_->decommit(a.slice, from, before);
  a.map.give_back(head, old_units);
  return result;
}

void *BigObjects::resize(void *p, size_t bytes) {
  Handle h = find(p);
  size_t most = size_t{region_->slice_units(Slice::kBigBase)} * kSuperpageBytes;
  if (!h || h.object->hugetlb || bytes == 0 || bytes > most)
    return nullptr;
  SpinGuard promotion(promotion_lock_);
  SpinGuard guard(lock_);
  Area &a = area_of(p);
  if (void *r = resize_in_place(a, h.head, *h.object, bytes))
    return r;
  return move_to_larger(a, h.head, bytes);
}

size_t BigObjects::trim() {
  SpinGuard guard(lock_);
  uint64_t kept = cache_.kept_bytes;
  evict_beyond(0);
  return kept;
}

BigObjects::Handle BigObjects::next_pending(UnitIndex &cursor) {
  SpinGuard guard(lock_);
  Area &a = areas_[kBase];
  UnitIndex end = a.map.high_water();
  UnitIndex at = cursor;
  for (UnitIndex seen = 0; seen <= end;) {
    if (at >= end)
      at = 0;
    BigObject &o = a.objects[at];
    UnitIndex step = a.map.is_taken(at) && a.head_of[at] == 0 && o.units ? o.units : 1;
    if (a.map.is_taken(at) && a.head_of[at] == 0 && o.units && o.pending) {
      cursor = at + step;
      return {a.slice, at, &o};
    }
    at += step;
    seen += step;
  }
  return {};
}

bool BigObjects::check_invariants() {
  SpinGuard guard(lock_);
  uint64_t superpages = 0;
  unsigned pending = 0;
  for (unsigned index = 0; index < 2; index++) {
    Area &a = areas_[index];
    if (!a.map.check_invariants())
      return false;
    UnitIndex counted = 0;
    for (UnitIndex unit = 0; unit < a.map.units();) {
      if (is_superpage(a, unit) && !a.map.is_taken(unit))
        return false;
      BigObject &o = a.objects[unit];
      if (o.units == 0) {
        superpages += is_superpage(a, unit);
        unit++;
        continue;
      }
      uint32_t mine = 0;
      for (UnitIndex i = 0; i < o.units; i++) {
        if (!a.map.is_taken(unit + i) || a.head_of[unit + i] != i)
          return false;
        mine += is_superpage(a, unit + i);
      }
      if (mine != o.superpages || o.superpages > o.whole_units || o.whole_units > o.units ||
          units_for(o.offset + o.bytes) != o.units)
        return false;
      superpages += mine;
      pending += o.pending;
      counted += o.units;
      unit += o.units;
    }
    for (unsigned i = 0; i < cache_.size; i++)
      if (cache_.runs[i].slice == index)
        counted += cache_.runs[i].count;
    if (counted != a.map.used())
      return false;
  }
  uint64_t kept = 0;
  for (unsigned i = 0; i < cache_.size; i++)
    kept += uint64_t{cache_.runs[i].count} * kSuperpageBytes;
  return pending == pending_.load() && kept == cache_.kept_bytes &&
         superpages <= region_->counters().superpages_now.get();
}

} // namespace smalloc
