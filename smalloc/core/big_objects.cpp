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

bool BigObjects::init(Region &region, Ladder &ladder, const Config &config) {
  region_ = &region;
  ladder_ = &ladder;
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
  uint64_t bit = uint64_t{1} << (unit % 64), &word = a.superpage[unit / 64];
  __atomic_store_n(&word, on ? word | bit : word & ~bit, __ATOMIC_RELAXED);
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

/// Units for an object, from the kept ones if it reuses them and a run of them fits. kept: how many at the front still
/// have old contents.
UnitIndex BigObjects::take_units(Area &a, unsigned index, UnitIndex units, UnitIndex whole,
                                 UnitIndex alignment, bool reuses, UnitIndex &kept) {
  kept = 0;
  unsigned best = UnitCache::kRuns;
  for (unsigned i = 0; i < cache_.size && alignment == 1 && reuses; i++) {
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
  // What is kept and does not fit must not raise the peak of memory.
  uint64_t after = region_->counters().big_bytes_now.get() + cache_.kept_bytes + bytes;
  uint64_t peak = region_->counters().big_bytes_peak.get();
  if (cache_.size && after > peak)
    evict_beyond(cache_.kept_bytes - min_of(cache_.kept_bytes, after - peak));
  return a.map.take(units, alignment);
}

bool BigObjects::commit_units(Area &a, UnitIndex first, size_t bytes) {
  return bytes == 0 || region_->os().commit(address(a, first), bytes) == 0;
}

/// Advice for 64 KiB pages would bring 2 MiB ones where the kernel may choose. A unit of which one
/// base page exists cannot become a superpage at a touch, and 15/16 of it get 64 KiB pages.
bool BigObjects::prime_medium(Area &a, UnitIndex first, UnitIndex whole) {
  for (UnitIndex i = 0; i < whole; i++)
    *const_cast<volatile char *>(address(a, first + i)) = 0;
  return region_->os().advise(address(a, first), size_t{whole} * kSuperpageBytes,
                              Advice::kSuperpages) == 0;
}

/// The same for one object among others that get none: bytes from..to of it, of which nothing beyond `from` exists. A page that
/// is only read is there as well. Where all memory gets 64 KiB pages no advice is given: khugepaged, which follows it, would make
/// superpages of them. False: base pages.
bool BigObjects::advise_medium(Area &a, UnitIndex head, size_t from, size_t to) {
  char *start = address(a, head);
  const PageSettings &settings = ladder_->settings();
  if (settings.medium.unadvised && !settings.superpage.unadvised)
    return true;
  if (settings.superpage.advised)
    for (size_t at = align_up(from, kSuperpageBytes); at < to; at += kSuperpageBytes)
      (void)*const_cast<volatile char *>(start + at);
  from = align_up(from, kBasePageBytes);
  return from >= to || region_->os().advise(start + from, to - from, Advice::kSuperpages) == 0;
}

void *BigObjects::allocate(const BigRequest &request) {
  size_t most = size_t{region_->slice_units(Slice::kBigBase)} * kSuperpageBytes;
  if (request.bytes == 0 || request.bytes > most)
    return nullptr;
  size_t align_bytes = request.alignment;
  if (request.superpages_at_birth)
    align_bytes = max_of(align_bytes, ladder_->alignment_for(request.bytes, request.first));
  size_t offset = stagger(request.alignment);
  size_t committed = align_up(offset + request.bytes, kBasePageBytes);
  if (request.whole_superpages)
    committed = align_up(committed, kSuperpageBytes);
  auto whole = static_cast<UnitIndex>(committed / kSuperpageBytes);
  auto units = static_cast<UnitIndex>(units_for(committed));
  // Superpages at birth are charged before they are touched; over the budget the object starts on
  // base pages.
  if (request.first == PageKind::kGigantic)
    ladder_->note_directed_gigantic(request.bytes);
  const bool directed_medium =
      request.first == PageKind::kMedium && ladder_->note_directed_medium();
  const bool at_birth_wanted = request.superpages_at_birth && request.first != PageKind::kMedium;
  bool superpages = at_birth_wanted && region_->superpages_allowed() &&
                    (region_->thp_allowed() || ladder_->pools(request.first));
  bool medium = ladder_->medium() && (directed_medium || (at_birth_wanted && !superpages));
  bool apart = directed_medium && !medium; // its advice is its own
  WhyNot why = WhyNot::kBudget;
  if (superpages && !region_->charge_superpages(whole, true, &why)) {
    superpages = false;
    ladder_->refused(PageKind::kSuperpage, why);
  }
  uint64_t charged = superpages ? whole : 0;
  unsigned index = superpages || medium ? kSuper : kBase;
  Area &a = areas_[index];
  auto alignment = static_cast<UnitIndex>(max_of<size_t>(align_bytes / kSuperpageBytes, 1));
  bool fits = region_->charge_mappings(2);
  if (!fits)
    ladder_->refused(PageKind::kSuperpage, WhyNot::kMappings);
  UnitIndex kept = 0, first = kNoUnit;
  if (fits) {
    region_->advise_slice(a.slice);
    SpinGuard guard(lock_);
    first = take_units(a, index, units, whole, alignment, !directed_medium, kept);
  }
  size_t kept_bytes = size_t{kept} * kSuperpageBytes;
  if (first == kNoUnit || !commit_units(a, first + kept, committed - kept_bytes)) {
    if (first != kNoUnit) {
      ladder_->refused(PageKind::kBase, WhyNot::kNoMemory);
      SpinGuard guard(lock_);
      drop(a, first, units, committed);
    }
    if (fits)
      region_->uncharge_mappings(2);
    region_->uncharge_superpages(charged);
    return nullptr;
  }
  // Nobody else can reach the units now: the system may take its time.
  Ladder::Pooled pooled;
  if (superpages && kept == 0 && ladder_->pools(request.first)) {
    pooled = ladder_->take_pool_pages(address(a, first), whole, request.first);
    if (pooled.units() < whole)
      region_->advise_range(a.slice, address(a, first + pooled.units()),
                            size_t{whole - pooled.units()} * kSuperpageBytes);
  }
  if (medium && kept == 0 && ladder_->primes_medium() && !prime_medium(a, first, whole))
    medium = false;
  if (apart && !advise_medium(a, first, 0, committed)) {
    ladder_->refused(PageKind::kMedium, WhyNot::kRefused, true);
    apart = false;
  }
  // Pages that are there already (of a pool, of an object before) move.
  const unsigned placed = request.placement.kind == numa::PlacementKind::kNone || !config_.place
                              ? 0
                              : config_.place(address(a, first), committed, request.placement);
  const uint32_t borders = placed > 1 && region_->charge_mappings(placed - 1) ? placed - 1 : 0;
  // What no pool has given gets transparent superpages, if the kernel takes advice.
  bool transparent = superpages && region_->thp_allowed();
  if (index == kSuper && region_->advice_error() != 0) {
    ladder_->refused(medium ? PageKind::kMedium : PageKind::kSuperpage, WhyNot::kRefused);
    transparent = medium = false;
  }
  UnitIndex at_birth = transparent ? whole : pooled.units();
  if (request.zero && kept)
    memset(address(a, first) + offset, 0, min_of(kept_bytes - offset, request.bytes));

  uint32_t now = 0, fresh = 0;
  SpinGuard guard(lock_);
  BigObject &o = a.objects[first];
  o = BigObject{};
  o.bytes = committed - offset;
  o.units = units;
  o.offset = static_cast<uint32_t>(offset);
  o.whole_units = whole;
  o.pooled = pooled;
  o.mappings = 2 + borders;
  o.placed = placed != 0;
  o.medium = apart;
  o.first = request.first;
  for (UnitIndex i = 0; i < units; i++)
    a.head_of[first + i] = i;
  for (UnitIndex i = 0; i < whole; i++) {
    if (i >= kept && i < at_birth) {
      set_superpage(a, first + i, true);
      fresh++;
    }
    now += is_superpage(a, first + i);
  }
  o.superpages = now;
  // Kept units were charged before, or are base pages: once the tail of an object.
  region_->uncharge_superpages(charged - fresh);
  region_->counters().superpages_at_birth.add(fresh);
  if (index == kBase)
    set_pending(o, request.promotable && may_wait(o));
  ladder_->got(pooled.gigantic_units  ? PageKind::kGigantic
               : pooled.hugetlb_units ? PageKind::kHugetlb
               : transparent && whole ? PageKind::kSuperpage
               : medium || apart      ? PageKind::kMedium
                                      : PageKind::kBase,
               request.first);
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

PageKind BigObjects::first_step(const void *p) const {
  Handle h = const_cast<BigObjects *>(this)->find(p);
  return h ? h.object->first : PageKind::kSuperpage;
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
    Ladder::Pooled pooled = o.pooled;
    o.units = 0;
    if (pooled.units())
      ladder_->give_pool_pages_back(address(a, h.head), pooled);
    release_units(a, h.head, units, used,
                  pooled.units() == 0 && !o.demoted && !o.placed && !o.medium);
  }
  if (promoting)
    promotion_lock_.unlock();
  return true;
}

size_t BigObjects::trim() {
  SpinGuard guard(lock_);
  uint64_t kept = cache_.kept_bytes;
  evict_beyond(0);
  return kept;
}

bool BigObjects::for_each_pool_run(bool (*visit)(char *, size_t, void *), void *data) {
  Area &a = areas_[kSuper];
  for (UnitIndex unit = 0; unit < a.map.high_water(); unit++) {
    BigObject &o = a.objects[unit];
    if (o.units == 0)
      continue;
    size_t gigantic = size_t{o.pooled.gigantic_units} * kSuperpageBytes;
    size_t hugetlb = size_t{o.pooled.hugetlb_units} * kSuperpageBytes;
    if ((gigantic && !visit(address(a, unit), gigantic, data)) ||
        (hugetlb && !visit(address(a, unit) + gigantic, hugetlb, data)))
      return false;
    unit += o.units - 1;
  }
  return true;
}

void BigObjects::forget_pools() {
  Area &a = areas_[kSuper];
  for (UnitIndex unit = 0; unit < a.map.high_water(); unit++)
    a.objects[unit].pooled = {};
  for (Counter &units : region_->counters().pool_units)
    units.set(0);
}

BigObjects::Handle BigObjects::next_object(UnitIndex from) {
  SpinGuard guard(lock_);
  Area &a = areas_[kBase];
  for (UnitIndex at = from, end = a.map.high_water(); at < end; at++)
    if (a.map.is_taken(at) && a.head_of[at] == 0 && a.objects[at].units)
      return {a.slice, at, &a.objects[at]};
  return {a.slice, 0, nullptr};
}

void BigObjects::make_pending(const Handle &handle) {
  SpinGuard guard(lock_);
  BigObject &o = *handle.object;
  if (o.units && handle.slice == areas_[kBase].slice && may_wait(o))
    set_pending(o, true);
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
