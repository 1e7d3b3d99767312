// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// big_first_touch.cpp allocates a new big object: chooses its start and the pages behind it. System
// calls that touch pages run outside the table lock, on units that no other thread can reach.
#include "smalloc/big/big_objects.h"

#include <string.h>

namespace smalloc {
namespace {
constexpr size_t kMostStaggerPages = 8;
/// True if the tail of an object takes a superpage, too: that adds at most 2 % to the object.
bool ends_near_superpage(size_t bytes) {
  return align_up(bytes, kSuperpageBytes) - bytes <= bytes / 50;
}
} // namespace

/// The object includes kSlackBytes behind its end, since the next unit may not be committed. The
/// slack alone takes no superpage.
size_t BigObjects::committed_end(size_t end, bool whole_superpages) {
  const size_t whole = align_up(end, kSuperpageBytes);
  if (!whole_superpages)
    return align_up(end + kSlackBytes, kBasePageBytes);
  return whole - end >= kSlackBytes ? whole : whole + kSlackBytes;
}

/// Returns the distance of an object's start from its unit's start. Objects that start at the same
/// offset of a superpage fall into the same cache sets: four grids walked together evict each
/// other. The line within the page spreads the L1 sets, the page spreads the L2 sets. The offset is
/// 8 pages at most, since the end needs as much more behind it.
size_t BigObjects::stagger(size_t alignment) {
  if (alignment > kMostStaggerPages * kBasePageBytes)
    return 0;
  uint32_t k = stagger_.fetch_add(1, std::memory_order_relaxed);
  constexpr size_t kLines = kBasePageBytes / kCacheLineBytes;
  size_t offset = (k % kMostStaggerPages) * kBasePageBytes + (k * 9 % kLines) * kCacheLineBytes;
  return align_up(offset, max_of(alignment, kCacheLineBytes)) %
         (kMostStaggerPages * kBasePageBytes);
}

bool BigObjects::commit_behind(Area &a, UnitIndex first, size_t kept_bytes, size_t committed) {
  return committed == kept_bytes ||
         region_->os().commit(address(a, first) + kept_bytes, committed - kept_bytes) == 0;
}

/// Prepares units for 64 KiB pages. Advice for them could bring 2 MiB pages where the kernel may
/// choose. A unit in which one base page exists cannot become a superpage at a touch, and 15/16 of
/// it get 64 KiB pages.
bool BigObjects::prime_medium(Area &a, UnitIndex first, UnitIndex whole) {
  for (UnitIndex i = 0; i < whole; i++)
    *const_cast<volatile char *>(address(a, first + i)) = 0;
  return region_->os().advise(address(a, first), size_t{whole} * kSuperpageBytes,
                              Advice::kSuperpages) == 0;
}

/// Advises bytes `from` to `to` of one object for 64 KiB pages, among objects without them. No page
/// at or after `from` exists. One base page per unit is read, and so populated. Where all memory
/// gets 64 KiB pages no advice is given: khugepaged follows advice and would make superpages.
/// False: the object has base pages.
bool BigObjects::advise_medium(Area &a, UnitIndex head, size_t from, size_t to) {
  char *start = address(a, head);
  const PageSettings &settings = page_fallback_->settings();
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
  if (request.superpages_at_first_touch)
    align_bytes = max_of(align_bytes, page_fallback_->alignment_for(request.bytes, request.first));
  size_t offset = stagger(request.alignment);
  const size_t end = offset + request.bytes;
  size_t committed = committed_end(end, request.whole_superpages ||
                                            (request.superpages_at_first_touch &&
                                             ends_near_superpage(align_up(end, kBasePageBytes))));
  auto whole = static_cast<UnitIndex>(committed / kSuperpageBytes);
  auto units = static_cast<UnitIndex>(units_for(committed));
  // Superpages at first touch are charged before the touch. Over the budget the object starts on
  // base pages.
  if (request.first == PageKind::kGigantic)
    page_fallback_->note_directed_gigantic(request.bytes);
  const bool directed_medium =
      request.first == PageKind::kMedium && page_fallback_->note_directed_medium();
  const bool at_first_touch_wanted =
      request.superpages_at_first_touch && request.first != PageKind::kMedium;
  bool superpages = at_first_touch_wanted && region_->superpages_allowed() &&
                    (region_->thp_allowed() || page_fallback_->pools(request.first));
  const bool ahead =
      request.ahead && superpages && whole > 0 && !page_fallback_->pools(request.first);
  const bool priced = superpages && !ahead && has_a_price(request);
  if (priced && is_too_expensive(whole))
    superpages = false;
  bool medium =
      page_fallback_->medium() && (directed_medium || (at_first_touch_wanted && !superpages));
  bool apart = directed_medium && !medium; // with advice of its own
  auto alignment = static_cast<UnitIndex>(max_of<size_t>(align_bytes / kSuperpageBytes, 1));
  const bool reuses = alignment == 1 && !directed_medium;
  bool fits = region_->charge_mappings(2);
  if (!fits)
    page_fallback_->refused(PageKind::kSuperpage, WhyNot::kMappings);
  UnitIndex kept = 0, first = kNoUnit;
  auto tail = static_cast<uint32_t>(committed % kSuperpageBytes);
  uint32_t kept_tail = 0;
  // Kept superpages are charged already.
  if (fits && superpages && reuses) {
    SpinGuard guard(lock_);
    if (const unsigned run = find_kept(kSuper, whole);
        tail && run != UnitCache::kRuns && cache_.runs[run].count > whole) {
      // The unit of the tail is kept: on base pages it would have to be faulted in again.
      whole = units;
      committed = size_t{units} * kSuperpageBytes;
      tail = 0;
    }
    kept_tail = tail;
    first = take_kept(kSuper, units, whole, kept_tail);
  }
  WhyNot why = WhyNot::kBudget;
  while (superpages && !ahead && first == kNoUnit &&
         !region_->charge_superpages(whole, true, &why)) {
    {
      SpinGuard guard(lock_);
      superpages = evict_superpages(whole);
    }
    superpages = superpages ||
                 (why == WhyNot::kBudget && take_from_less_worthy(request.profile_worth, whole));
    if (!superpages)
      page_fallback_->refused(PageKind::kSuperpage, why);
  }
  uint64_t charged = superpages && !ahead && first == kNoUnit ? whole : 0;
  unsigned index = superpages || medium ? kSuper : kBase;
  Area &a = areas_[index];
  if (fits && first != kNoUnit) {
    kept = whole;
  } else if (fits) {
    region_->advise_slice(a.slice);
    SpinGuard guard(lock_);
    if (reuses && !superpages) {
      kept_tail = tail;
      first = take_kept(index, units, whole, kept_tail);
    }
    if (first != kNoUnit)
      kept = whole;
    else
      first = take_fresh(a, units, whole, alignment);
  }
  const size_t kept_bytes = size_t{kept} * kSuperpageBytes + kept_tail;
  if (first == kNoUnit || !commit_behind(a, first, kept_bytes, committed)) {
    if (first != kNoUnit) {
      page_fallback_->refused(PageKind::kBase, WhyNot::kNoMemory);
      SpinGuard guard(lock_);
      drop(a, first, units, committed);
    }
    if (fits)
      region_->uncharge_mappings(2);
    region_->uncharge_superpages(charged);
    return nullptr;
  }
  // No other thread can reach the units now, so the system calls may take long.
  PageFallback::Pooled pooled;
  if (superpages && kept == 0 && page_fallback_->pools(request.first)) {
    pooled = page_fallback_->take_pool_pages(address(a, first), whole, request.first);
    if (pooled.units() < whole)
      region_->advise_range(a.slice, address(a, first + pooled.units()),
                            size_t{whole - pooled.units()} * kSuperpageBytes);
  }
  if (medium && kept == 0 && page_fallback_->primes_medium() && !prime_medium(a, first, whole))
    medium = false;
  if (apart && !advise_medium(a, first, 0, committed)) {
    page_fallback_->refused(PageKind::kMedium, WhyNot::kRefused, true);
    apart = false;
  }
  // Existing pages (of a pool, of an earlier object) are migrated.
  const unsigned placed = request.placement.kind == numa::PlacementKind::kNone || !config_.place
                              ? 0
                              : config_.place(address(a, first), committed, request.placement);
  const uint32_t borders = placed > 1 && region_->charge_mappings(placed - 1) ? placed - 1 : 0;
  // Units without pool pages get transparent superpages, if the kernel takes advice.
  bool transparent = superpages && region_->thp_allowed();
  if (index == kSuper && region_->advice_error() != 0) {
    page_fallback_->refused(medium ? PageKind::kMedium : PageKind::kSuperpage, WhyNot::kRefused);
    transparent = medium = false;
  }
  UnitIndex at_first_touch = transparent ? whole : pooled.units();
  const bool held_back = ahead && transparent && kept == 0 && withhold(a, first, first + whole);
  if (held_back)
    at_first_touch = 0;
  else if (ahead && transparent && kept == 0) {
    // No mapping is left for advice: give all superpages at once.
    region_->charge_unasked(whole);
    charged = whole;
  }
  const bool expensive = held_back || (priced && request.written && transparent && kept == 0 &&
                                       !touch_at_first_touch(first, whole, at_first_touch));
  if (transparent && !priced && request.written && kept == 0 && pooled.units() == 0 &&
      placed == 0 && config_.first_touch)
    config_.first_touch->sample(address(a, first), whole);
  if (request.zero && kept)
    memset(address(a, first) + offset, 0, min_of(kept_bytes - offset, request.bytes));

  uint32_t now = 0, fresh = 0;
  SpinGuard guard(lock_);
  BigObject &o = a.objects[first];
  o = BigObject{};
  o.history = request.history;
  o.bytes = committed - offset;
  o.units = units;
  o.offset = static_cast<uint32_t>(offset);
  o.whole_units = whole;
  o.pooled = pooled;
  o.mappings = 2 + borders + (expensive ? kExpensiveMappings : 0);
  o.demoted = expensive;
  o.placed = placed != 0;
  o.medium = apart;
  o.promotable = request.promotable;
  o.whole_superpages = request.whole_superpages;
  o.first = request.first;
  o.profile_worth = request.profile_worth;
  o.placement = request.placement;
  for (UnitIndex i = 0; i < units; i++)
    a.head_of[first + i] = i;
  for (UnitIndex i = 0; i < whole; i++) {
    if (i >= kept && i < at_first_touch) {
      set_superpage(a, first + i, true);
      fresh++;
    }
    now += is_superpage(a, first + i);
  }
  o.superpages = now;
  // Kept units were charged before, or are base pages: the former tail of an object.
  region_->uncharge_superpages(charged - fresh);
  region_->got_superpages(fresh);
  region_->counters().superpages_at_first_touch.add(fresh);
  if (index == kBase || expensive)
    set_pending(o, may_wait(o));
  if (request.history && whole && (held_back || index == kBase))
    watch(o, first, index);
  page_fallback_->got(pooled.gigantic_units           ? PageKind::kGigantic
                      : pooled.hugetlb_units          ? PageKind::kHugetlb
                      : transparent && at_first_touch ? PageKind::kSuperpage
                      : medium || apart               ? PageKind::kMedium
                                                      : PageKind::kBase,
                      request.first);
  region_->counters().big_objects.add();
  region_->counters().big_objects_now.add();
  region_->counters().big_bytes.add(o.bytes);
  note_live(o.bytes, 0);
  return address(a, first) + offset;
}

} // namespace smalloc
