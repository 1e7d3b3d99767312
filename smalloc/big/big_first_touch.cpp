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

/// An allocation on its way through the steps of allocate().
struct BigObjects::Allocation {
  const BigRequest &request;
  size_t offset, committed;    ///< of the object in its first unit; bytes from that unit on
  UnitIndex whole, units;      ///< superpages, and units with the tail on base pages
  UnitIndex alignment;         ///< in units
  bool directed_medium, ahead; ///< superpages ahead of the program's first touches
  bool priced;                 ///< superpages at first touch only while they are not too expensive
  bool superpages, medium;     ///< what the units are to be backed by; neither: base pages
  bool apart;                  ///< 64 KiB pages by advice of its own
  unsigned index = kBase;
  UnitIndex first = kNoUnit, kept = 0; ///< kept: whole units with the contents of an earlier object
  uint32_t kept_tail = 0;              ///< and bytes behind them
  uint64_t charged = 0;                ///< superpages
  PageFallback::Pooled pooled = {};
  bool placed = false, transparent = false, held_back = false, expensive = false;
  uint32_t borders = 0; ///< mappings of their own between NUMA nodes
  UnitIndex at_first_touch = 0;

  size_t kept_bytes() const { return size_t{kept} * kSuperpageBytes + kept_tail; }
  uint32_t tail() const { return static_cast<uint32_t>(committed % kSuperpageBytes); }
  bool reuses() const { return alignment == 1 && !directed_medium; }
};

/// Chooses the size and the page kind. Superpages at first touch are charged before the touch. Over
/// the budget the object starts on base pages.
BigObjects::Allocation BigObjects::planned(const BigRequest &request) {
  size_t align_bytes = request.alignment;
  if (request.superpages_at_first_touch)
    align_bytes = max_of(align_bytes, page_fallback_->alignment_for(request.bytes, request.first));
  const size_t offset = stagger(request.alignment), end = offset + request.bytes;
  const size_t committed = committed_end(
      end, request.whole_superpages || (request.superpages_at_first_touch &&
                                        ends_near_superpage(align_up(end, kBasePageBytes))));
  const auto whole = static_cast<UnitIndex>(committed / kSuperpageBytes);
  if (request.first == PageKind::kGigantic)
    page_fallback_->note_directed_gigantic(request.bytes);
  const bool directed_medium =
      request.first == PageKind::kMedium && page_fallback_->note_directed_medium();
  const bool wanted = request.superpages_at_first_touch && request.first != PageKind::kMedium;
  const bool pools = page_fallback_->pools(request.first);
  bool superpages = wanted && region_->superpages_allowed() && (region_->thp_allowed() || pools);
  const bool ahead = request.ahead && superpages && whole > 0 && !pools;
  const bool priced = superpages && !ahead && has_a_price(request);
  if (priced && is_too_expensive(whole))
    superpages = false;
  const bool medium = page_fallback_->medium() && (directed_medium || (wanted && !superpages));
  return {.request = request,
          .offset = offset,
          .committed = committed,
          .whole = whole,
          .units = static_cast<UnitIndex>(units_for(committed)),
          .alignment = static_cast<UnitIndex>(max_of<size_t>(align_bytes / kSuperpageBytes, 1)),
          .directed_medium = directed_medium,
          .ahead = ahead,
          .priced = priced,
          .superpages = superpages,
          .medium = medium,
          .apart = directed_medium && !medium};
}

/// Charges the superpages of units that were not kept. Without room the object gets none.
void BigObjects::charge(Allocation &n) {
  WhyNot why = WhyNot::kBudget;
  if (n.ahead || n.first != kNoUnit)
    return;
  while (n.superpages && !region_->charge_superpages(n.whole, true, &why)) {
    {
      SpinGuard guard(lock_);
      n.superpages = evict_superpages(n.whole);
    }
    n.superpages = n.superpages || (why == WhyNot::kBudget &&
                                    take_from_less_worthy(n.request.profile_worth, n.whole));
    if (!n.superpages)
      page_fallback_->refused(PageKind::kSuperpage, why);
  }
  n.charged = n.superpages ? n.whole : 0;
}

/// Takes units, kept ones first, and commits them. False: there are none.
bool BigObjects::take_units(Allocation &n) {
  const bool fits = region_->charge_mappings(2);
  if (!fits)
    page_fallback_->refused(PageKind::kSuperpage, WhyNot::kMappings);
  // Kept superpages are charged already.
  if (fits && n.superpages && n.reuses()) {
    SpinGuard guard(lock_);
    if (const unsigned run = find_kept(kSuper, n.whole);
        n.tail() && run != UnitCache::kRuns && cache_.runs[run].count > n.whole) {
      // The unit of the tail is kept: on base pages it would have to be faulted in again.
      n.whole = n.units;
      n.committed = size_t{n.units} * kSuperpageBytes;
    }
    n.kept_tail = n.tail();
    n.first = take_kept(kSuper, n.units, n.whole, n.kept_tail);
  }
  charge(n);
  n.index = n.superpages || n.medium ? kSuper : kBase;
  Area &a = areas_[n.index];
  if (fits && n.first == kNoUnit) {
    region_->advise_slice(a.slice);
    SpinGuard guard(lock_);
    if (n.reuses() && !n.superpages) {
      n.kept_tail = n.tail();
      n.first = take_kept(n.index, n.units, n.whole, n.kept_tail);
    }
    if (n.first == kNoUnit)
      n.first = take_fresh(a, n.units, n.whole, n.alignment);
    else
      n.kept = n.whole;
  } else if (fits) {
    n.kept = n.whole;
  }
  if (n.first != kNoUnit && commit_behind(a, n.first, n.kept_bytes(), n.committed))
    return true;
  if (n.first != kNoUnit) {
    page_fallback_->refused(PageKind::kBase, WhyNot::kNoMemory);
    SpinGuard guard(lock_);
    drop(a, n.first, n.units, n.committed);
  }
  if (fits)
    region_->uncharge_mappings(2);
  region_->uncharge_superpages(n.charged);
  return false;
}

/// Asks the kernel for the pages. No other thread can reach the units, so the system calls may take
/// long.
void BigObjects::back_units(Allocation &n) {
  const BigRequest &request = n.request;
  Area &a = areas_[n.index];
  if (n.superpages && n.kept == 0 && page_fallback_->pools(request.first)) {
    n.pooled = page_fallback_->take_pool_pages(address(a, n.first), n.whole, request.first);
    if (n.pooled.units() < n.whole)
      region_->advise_range(a.slice, address(a, n.first + n.pooled.units()),
                            size_t{n.whole - n.pooled.units()} * kSuperpageBytes);
  }
  if (n.medium && n.kept == 0 && page_fallback_->primes_medium() &&
      !prime_medium(a, n.first, n.whole))
    n.medium = false;
  if (n.apart && !advise_medium(a, n.first, 0, n.committed)) {
    page_fallback_->refused(PageKind::kMedium, WhyNot::kRefused, true);
    n.apart = false;
  }
  // Existing pages (of a pool, of an earlier object) are migrated.
  const unsigned parts = request.placement.kind == numa::PlacementKind::kNone || !config_.place
                             ? 0
                             : config_.place(address(a, n.first), n.committed, request.placement);
  n.placed = parts != 0;
  n.borders = parts > 1 && region_->charge_mappings(parts - 1) ? parts - 1 : 0;
  // Units without pool pages get transparent superpages, if the kernel takes advice.
  n.transparent = n.superpages && region_->thp_allowed();
  if (n.index == kSuper && region_->advice_error() != 0) {
    page_fallback_->refused(n.medium ? PageKind::kMedium : PageKind::kSuperpage, WhyNot::kRefused);
    n.transparent = n.medium = false;
  }
}

/// Sets how many units get superpages at the first touch, and clears the contents of kept ones.
void BigObjects::prepare_first_touch(Allocation &n) {
  const BigRequest &request = n.request;
  Area &a = areas_[n.index];
  const bool fresh = n.transparent && n.kept == 0;
  n.at_first_touch = n.transparent ? n.whole : n.pooled.units();
  n.held_back = n.ahead && fresh && withhold(a, n.first, n.first + n.whole);
  if (n.held_back)
    n.at_first_touch = 0;
  else if (n.ahead && fresh) {
    // No mapping is left for advice: give all superpages at once.
    region_->charge_unasked(n.whole);
    n.charged = n.whole;
  }
  n.expensive = n.held_back || (n.priced && request.written && fresh &&
                                !touch_at_first_touch(n.first, n.whole, n.at_first_touch));
  if (fresh && !n.priced && request.written && n.pooled.units() == 0 && !n.placed &&
      config_.first_touch)
    config_.first_touch->sample(address(a, n.first), n.whole);
  if (request.zero && n.kept)
    memset(address(a, n.first) + n.offset, 0, min_of(n.kept_bytes() - n.offset, request.bytes));
}

/// Enters the object in the tables.
void BigObjects::enter(const Allocation &n) {
  const BigRequest &request = n.request;
  uint32_t now = 0, fresh = 0;
  SpinGuard guard(lock_);
  Area &a = areas_[n.index];
  BigObject &o = a.objects[n.first];
  o = BigObject{};
  o.history = request.history;
  o.bytes = n.committed - n.offset;
  o.units = n.units;
  o.offset = static_cast<uint32_t>(n.offset);
  o.whole_units = n.whole;
  o.pooled = n.pooled;
  o.mappings = 2 + n.borders + (n.expensive ? kExpensiveMappings : 0);
  o.demoted = n.expensive;
  o.placed = n.placed;
  o.medium = n.apart;
  o.promotable = request.promotable;
  o.whole_superpages = request.whole_superpages;
  o.first = request.first;
  o.profile_worth = request.profile_worth;
  o.placement = request.placement;
  for (UnitIndex i = 0; i < n.units; i++)
    a.head_of[n.first + i] = i;
  for (UnitIndex i = 0; i < n.whole; i++) {
    if (i >= n.kept && i < n.at_first_touch) {
      set_superpage(a, n.first + i, true);
      fresh++;
    }
    now += is_superpage(a, n.first + i);
  }
  o.superpages = now;
  // Kept units were charged before, or are base pages: the former tail of an object.
  region_->uncharge_superpages(n.charged - fresh);
  region_->got_superpages(fresh);
  region_->counters().superpages_at_first_touch.add(fresh);
  if (n.index == kBase || n.expensive)
    set_pending(o, may_wait(o));
  if (request.history && n.whole && (n.held_back || n.index == kBase))
    watch(o, n.first, n.index);
  region_->counters().big_objects.add();
  region_->counters().big_objects_now.add();
  region_->counters().big_bytes.add(o.bytes);
  note_live(o.bytes, 0);
}

void *BigObjects::allocate(const BigRequest &request) {
  const size_t most = size_t{region_->slice_units(Slice::kBigBase)} * kSuperpageBytes;
  if (request.bytes == 0 || request.bytes > most)
    return nullptr;
  Allocation n = planned(request);
  if (!take_units(n))
    return nullptr;
  back_units(n);
  prepare_first_touch(n);
  enter(n);
  page_fallback_->got(n.pooled.gigantic_units             ? PageKind::kGigantic
                      : n.pooled.hugetlb_units            ? PageKind::kHugetlb
                      : n.transparent && n.at_first_touch ? PageKind::kSuperpage
                      : n.medium || n.apart               ? PageKind::kMedium
                                                          : PageKind::kBase,
                      request.first);
  return address(areas_[n.index], n.first) + n.offset;
}

} // namespace smalloc
