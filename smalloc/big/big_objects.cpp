// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// big_objects.cpp maintains the tables of big objects: finds the object of a unit, lists the
// objects that wait for promotion, and frees objects.
#include "smalloc/big/big_objects.h"

namespace smalloc {

bool BigObjects::init(Region &region, PageFallback &page_fallback, const Config &config) {
  region_ = &region;
  page_fallback_ = &page_fallback;
  config_ = config;
  areas_[kBase].slice = Slice::kBigBase;
  areas_[kSuper].slice = Slice::kBigSuper;
  for (Area &a : areas_) {
    UnitIndex units = region.slice_units(a.slice) - 1; // without the slice's guard unit
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

void BigObjects::shrink(size_t bytes) {
  SpinGuard guard(lock_);
  for (Area &a : areas_) {
    const size_t share = Region::share_of(a.slice, bytes);
    region_->keep_units(a.slice, a.map.end_at(static_cast<UnitIndex>(share / kSuperpageBytes)));
  }
}

void BigObjects::lock_all() {
  promotion_lock_.lock();
  lock_.lock();
}
void BigObjects::unlock_all() {
  lock_.unlock();
  promotion_lock_.unlock();
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

BigObjects::Handle BigObjects::find(const void *p) {
  SpinGuard guard(lock_);
  return find_locked(p);
}

BigObjects::Handle BigObjects::find_soon(const void *p) {
  return lock_.comes_free() ? find(p) : Handle{};
}

BigObjects::Handle BigObjects::find_locked(const void *p) {
  Area &a = area_of(p);
  UnitIndex unit = region_->unit_of(a.slice, p);
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
  const char *end =
      region_->unit_address(h.slice, h.head) + h.object->offset + h.object->usable_bytes();
  return p < end ? static_cast<size_t>(end - static_cast<const char *>(p)) : 0;
}

BigRequest BigObjects::like(const void *p, size_t bytes) const {
  BigRequest request;
  request.bytes = bytes;
  if (Handle h = const_cast<BigObjects *>(this)->find(p)) {
    request.superpages_at_first_touch = h.slice == Slice::kBigSuper;
    request.promotable = h.object->promotable;
    request.history = h.object->history;
    request.whole_superpages = h.object->whole_superpages;
    request.first = h.object->first;
    request.profile_worth = h.object->profile_worth;
    request.placement = h.object->placement;
  }
  return request;
}

/// True if the object's pages have no attributes that the next owner must not inherit. A program
/// can set advice (MADV_DONTFORK and others), protection and keys, mlock, a NUMA policy, a name, or
/// a userfaultfd. It can also map other memory over the pages. Each of these splits the pages into
/// a mapping of their own, apart from the page of slack, which the program never gets. So if one
/// mapping spans from the first unit to the slack, it has libsmalloc's attributes. Takes lock_
/// itself.
bool BigObjects::is_pristine(const Handle &h) {
  size_t bytes;
  {
    SpinGuard guard(lock_);
    if (!may_be_kept(*h.object))
      return false;
    bytes = h.object->offset + h.object->bytes;
  }
  return region_->os().is_one_mapping(region_->unit_address(h.slice, h.head), bytes);
}

bool BigObjects::starts_at(const void *p) const {
  Handle h = const_cast<BigObjects *>(this)->find(p);
  return h && region_->unit_address(h.slice, h.head) + h.object->offset == p;
}

bool BigObjects::release(void *p) {
  Handle h = find(p);
  if (!h || region_->unit_address(h.slice, h.head) + h.object->offset != p)
    return false;
  BigObject &o = *h.object;
  const bool pristine = is_pristine(h);
  // Units that are about to be reused must not be collapsed meanwhile. An object that waits for
  // promotion now may be collapsed: take the promotion lock. Any other object will not begin to
  // wait before this function is done.
  lock_.lock();
  const bool promoting = o.pending || o.watched;
  // An object with superpages from the start is not watched, but predicts larger ones of its
  // origin.
  const bool asked = o.units != 0 && (o.watched || !fills_.is_settled(o.history));
  bool filled = false;
  if (promoting || asked) {
    lock_.unlock();
    if (promoting)
      promotion_lock_.lock();
    filled = asked && o.units != 0 && ends_filled(area_of(p), h.head, o);
    lock_.lock();
  }
  const bool live = o.units != 0; // false: freed twice at the same time
  if (live) {
    Area &a = area_of(p);
    size_t used = o.offset + o.bytes;
    if (filled)
      fills_.filled(o.history, o.whole_units);
    else if (o.watched && o.looks_without_growth >= kStillLooks && o.probe < o.whole_units / 2)
      fills_.stayed_sparse(o.history); // an array that doubles is at least half full
    unwatch(o);
    set_pending(o, false);
    region_->counters().big_objects_now.sub(1);
    note_live(0, o.bytes);
    region_->uncharge_mappings(o.mappings);
    UnitIndex units = o.units;
    PageFallback::Pooled pooled = o.pooled;
    const bool keep = pristine && may_be_kept(o);
    o.units = 0;
    if (pooled.units())
      page_fallback_->give_pool_pages_back(address(a, h.head), pooled);
    release_units(a, h.head, units, used, keep);
  }
  lock_.unlock();
  if (promoting)
    promotion_lock_.unlock();
  return live;
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
  if (!o.units || handle.slice != areas_[kBase].slice)
    return;
  o.promotable = true;
  set_pending(o, may_wait(o));
}

/// Returns the first pending object from `from` on, cyclic. Precondition: lock_ is held.
BigObjects::Handle BigObjects::next_pending_of(Area &a, UnitIndex from, UnitIndex &behind) {
  const UnitIndex end = a.map.high_water();
  UnitIndex at = from;
  for (UnitIndex seen = 0; seen <= end;) {
    if (at >= end)
      at = 0;
    BigObject &o = a.objects[at];
    const bool starts = a.map.is_taken(at) && a.head_of[at] == 0 && o.units;
    const UnitIndex step = starts ? o.units : 1;
    if (starts && o.pending) {
      behind = at + step;
      return {a.slice, at, &o};
    }
    at += step;
    seen += step;
  }
  return {};
}

BigObjects::Handle BigObjects::next_pending(UnitIndex &cursor) {
  SpinGuard guard(lock_);
  if (Handle h = next_pending_of(areas_[kBase], cursor, cursor))
    return h;
  UnitIndex behind; // not kept: few objects wait here
  return next_pending_of(areas_[kSuper], 0, behind);
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
        counted += cache_.runs[i].units();
    if (counted != a.map.used())
      return false;
  }
  uint64_t kept = 0;
  for (unsigned i = 0; i < cache_.size; i++)
    kept += cache_.runs[i].bytes();
  return pending == pending_.load() && kept == cache_.kept_bytes &&
         superpages <= region_->counters().superpages_now.get();
}

} // namespace smalloc
