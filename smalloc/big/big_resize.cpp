// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// big_resize.cpp resizes big objects. An object grows in place while the units behind it are free.
// Otherwise its pages, not its bytes, are moved to a longer run (mremap). Pages of a pool cannot be
// moved: the caller copies such an object.
#include "smalloc/big/big_objects.h"

namespace smalloc {
/// Takes and commits the memory of an object that grows from `before` to `after`, distances from
/// its first unit. False: the units behind it are in use, or the commit is refused. Precondition:
/// lock_ is held.
bool BigObjects::add_memory(Area &a, UnitIndex head, BigObject &o, size_t before, size_t after) {
  const auto units = static_cast<UnitIndex>(units_for(after));
  if (units > o.units && !a.map.take_at(head + o.units, units - o.units))
    return false;
  char *end = address(a, head) + before;
  if (region_->os().commit(end, after - before) != 0) {
    region_->decommit(a.slice, end, after - before);
    if (units > o.units)
      a.map.give_back(head + o.units, units - o.units);
    return false;
  }
  if (o.medium)
    advise_medium(a, head, before, after);
  return true;
}

/// Decommits the memory that an object loses in its last remaining unit when it shrinks from
/// `before` to `after`, distances from its first unit. Preconditions: lock_ is held; no promotion
/// is running.
void BigObjects::cut_memory(Area &a, UnitIndex head, BigObject &o, size_t before, size_t after) {
  const auto units = static_cast<UnitIndex>(units_for(after)),
             whole = static_cast<UnitIndex>(after / kSuperpageBytes);
  char *start = address(a, head);
  unwatch(o); // whether it would have been filled is unknown from now on
  // The new slack is memory that the program had, so is_pristine() cannot detect attributes on it.
  o.placed |= may_be_kept(o) && !region_->os().is_one_mapping(start, before);
  // Whole superpages are released whole. The rest of the last superpage's unit becomes a tail
  // again.
  const size_t keep_in_unit = min_of(before, size_t{units} * kSuperpageBytes);
  if (keep_in_unit > after)
    region_->decommit(a.slice, start + after, keep_in_unit - after);
  if (whole < units && whole < o.whole_units) {
    const UnitIndex cut = clear_superpages(a, head + whole, 1);
    region_->demoted(address(a, head + whole), kSuperpageBytes, cut);
  }
  o.superpages = 0;
  for (UnitIndex i = 0; i < whole; i++)
    o.superpages += is_superpage(a, head + i);
  region_->counters().pages_released.add((keep_in_unit - after) / kBasePageBytes);
}

/// Preconditions: lock_ is held; no promotion is running.
void *BigObjects::resize_in_place(Area &a, UnitIndex head, BigObject &o, size_t bytes) {
  const size_t before = o.offset + o.bytes;
  size_t after = committed_end(o.offset + bytes, o.whole_superpages);
  // A tail on a superpage keeps it while its unit stays.
  if (a.slice == Slice::kBigSuper && o.whole_units == o.units && after < before &&
      units_for(after) == o.units)
    after = before;
  if (after > before && !add_memory(a, head, o, before, after))
    return nullptr;
  if (after < before)
    cut_memory(a, head, o, before, after);
  const auto units = static_cast<UnitIndex>(units_for(after));
  for (UnitIndex i = o.units; i < units; i++)
    a.head_of[head + i] = i;
  note_live(after > before ? after - before : 0, after < before ? before - after : 0);
  o.bytes = after - o.offset;
  const UnitIndex units_before = o.units, whole_before = o.whole_units;
  o.units = units;
  o.whole_units = static_cast<UnitIndex>(after / kSuperpageBytes);
  if (a.slice == Slice::kBigSuper) {
    // The unit of the former tail contains base pages and keeps them.
    const auto fresh = static_cast<UnitIndex>(units_for(before));
    grow_at_first_touch(a, head, o, max_of(whole_before, fresh), o.whole_units);
  } else {
    o.fruitless = 0;
    o.next_unit = 0;
    set_pending(o, may_wait(o));
  }
  if (units < units_before) // last, since it unlocks for a while
    release_units(a, head + units, units_before - units, before - size_t{units} * kSuperpageBytes,
                  may_be_kept(o));
  return address(a, head) + o.offset;
}

/// Gives untouched new units of an object with superpages at first touch their superpages. Units
/// over the budget start on base pages and wait for promotion. Precondition: lock_ is held.
void BigObjects::grow_at_first_touch(Area &a, UnitIndex head, BigObject &o, UnitIndex from,
                                     UnitIndex to) {
  if (from < to && region_->thp_allowed() && withhold_growth(a, head, o, from, to))
    return;
  for (; from < to; from++) {
    if (!region_->thp_allowed() || !region_->charge_superpages(1))
      break;
    set_superpage(a, head + from, true);
    region_->got_superpages(1);
    region_->counters().superpages_at_first_touch.add();
    o.superpages++;
  }
  if (from >= to || !region_->thp_allowed() || !region_->charge_mappings(kExpensiveMappings))
    return;
  if (region_->os().advise(address(a, head + from), size_t{to - from} * kSuperpageBytes,
                           Advice::kNoSuperpages) != 0) {
    region_->uncharge_mappings(kExpensiveMappings);
    return;
  }
  o.mappings += kExpensiveMappings;
  o.demoted = true;
  o.fruitless = 0;
  o.next_unit = 0;
  set_pending(o, may_wait(o));
}

void *BigObjects::move_to_larger(Area &a, UnitIndex head, size_t bytes) {
  BigObject &o = a.objects[head];
  if (o.demoted) // several mappings, which mremap does not move at once: the caller copies
    return nullptr;
  size_t before = o.offset + o.bytes;
  size_t after = committed_end(o.offset + bytes, o.whole_superpages);
  auto units = static_cast<UnitIndex>(units_for(after));
  // The moved part and the new part behind it stay two mappings.
  if (!region_->charge_mappings(1))
    return nullptr;
  UnitIndex to = a.map.take(units);
  if (to == kNoUnit) {
    region_->uncharge_mappings(1);
    return nullptr;
  }
  const OsHooks &os = region_->os();
  char *from = address(a, head), *target = address(a, to);
  if (os.commit(target, after) != 0 || os.move(from, target, before) != 0) {
    region_->decommit(a.slice, target, size_t{units} * kSuperpageBytes);
    a.map.give_back(to, units);
    region_->uncharge_mappings(1);
    return nullptr;
  }
  if (o.medium)
    advise_medium(a, to, before, after);
  BigObject &n = a.objects[to];
  n = o;
  n.pending = false;
  n.mappings++;
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
    grow_at_first_touch(a, to, n, o.units, n.whole_units);
  } else {
    set_pending(n, may_wait(n));
  }
  set_pending(o, false);
  note_live(n.bytes - o.bytes, 0);
  UnitIndex old_units = o.units;
  char *result = target + n.offset;
  o.units = 0;
  region_->counters().moves.add();
  region_->decommit(a.slice, from, size_t{old_units} * kSuperpageBytes); // as in drop()
  a.map.give_back(head, old_units);
  return result;
}

void *BigObjects::resize(void *p, size_t bytes) {
  Handle h = find(p);
  size_t most = size_t{region_->slice_units(Slice::kBigBase)} * kSuperpageBytes;
  if (!h || h.object->pooled.units() || bytes == 0 || bytes > most)
    return nullptr;
  SpinGuard promotion(promotion_lock_);
  SpinGuard guard(lock_);
  if (bytes > h.object->bytes)
    make_room_beside_kept(align_down(bytes - h.object->bytes, kSuperpageBytes));
  Area &a = area_of(p);
  if (void *r = resize_in_place(a, h.head, *h.object, bytes))
    return r;
  return move_to_larger(a, h.head, bytes);
}

} // namespace smalloc
