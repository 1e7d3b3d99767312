// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime_allocate.cpp selects the heap for a request of a site from the cell's word, the request's
// size and the state of the heaps. Tests come in the order of their cost: a request for the
// program's malloc leaves after a few comparisons.
#include "smalloc/agent/agent.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/core/runtime.h"
#include "smalloc/os/locked_memory.h"
#include "smalloc/process/loaded_objects.h"
#include "smalloc/sites/object_placement.h"
#include "smalloc/small/node_heaps.h"

namespace smalloc {
namespace {
/// True if a directive asks for superpages, and the agent keeps the site's objects on base pages
/// until there is room.
bool is_deferred(const smalloc_cell *cell) {
  const uint64_t word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
  return SMALLOC_WORD_DECIDED_BY(word) == SMALLOC_BY_DIRECTIVE &&
         SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_RUNTIME;
}
/// Returns the page size that a profile or a directive has named for the site, as the first step of
/// the fallback.
PageKind first_step(const smalloc_cell *cell) {
  switch (SMALLOC_WORD_PAGE_SHIFT(__atomic_load_n(&cell->word, __ATOMIC_RELAXED))) {
  case kMediumShift:
    return PageKind::kMedium;
  case kGiganticShift:
    return PageKind::kGigantic;
  default:
    return PageKind::kSuperpage;
  }
}

/// Returns the value of smalloc_site::worth: from the site's directive, else the compiled-in one.
uint32_t worth_of(const smalloc_cell *cell, const Directives::Entry *entry) {
  if (entry)
    return smalloc_directive_worth(!entry->insists, entry->pmb_thousandths, entry->superpages);
  const auto *site = cell && cell->site_offset
                         ? reinterpret_cast<const smalloc_site *>(
                               reinterpret_cast<const char *>(cell) + cell->site_offset)
                         : nullptr;
  return site && site->magic == SMALLOC_SITE_MAGIC && site->fixed_bytes >= sizeof *site
             ? site->worth
             : 0;
}

/// Counts of refused superpages by reason.
struct Refusals {
  uint64_t times[kWhyNots];
  explicit Refusals(const Counters &c) {
    for (unsigned why = 0; why < kWhyNots; why++)
      times[why] = c.not_on[static_cast<unsigned>(PageKind::kSuperpage)][why].get();
  }
  /// Returns a value of smalloc_live_site::why_less. A refusal of another thread at the same moment
  /// may be mistaken for this request's.
  uint32_t first_since(const Refusals &before) const {
    for (unsigned why = 0; why < kWhyNots; why++)
      if (times[why] != before.times[why])
        return why + 1;
    return SMALLOC_LIVE_FILLED_FIRST;
  }
};
} // namespace

void Runtime::charge_big(void *p, SiteAccounts::Account account) {
  if (BigObjects::Handle h = big_.find(p))
    g_accounts.note_big_allocated(p, account, h.object->usable_bytes(), h.object->superpages);
  if (SMALLOC_UNLIKELY(g_agent.active()))
    agent_charged(account);
}

void *Runtime::big_allocate(size_t bytes, size_t alignment, bool zero, FirstTouch touch, bool whole,
                            smalloc_cell *cell, numa::Placement placement, PageKind first) {
  BigRequest request;
  request.bytes = bytes;
  request.alignment = alignment;
  request.zero = zero;
  request.superpages_at_first_touch = touch != FirstTouch::kBase;
  request.if_cheap = touch == FirstTouch::kSuperpagesIfCheap;
  request.written = request.if_cheap || touch == FirstTouch::kWrittenSuperpages;
  request.whole_superpages = whole;
  request.promotable =
      options_.promote != PromotePolicy::kOff && !(cell && (is_deferred(cell) || is_refused(cell)));
  request.placement = cell ? g_placement.of(cell) : placement;
  request.first = cell ? first_step(cell) : first;
  const SiteAccounts::Account account = g_accounts.account_of(cell);
  request.profile_worth = worth_of(cell, cell ? g_accounts.directive(account) : nullptr);
  return big_allocate(request, account);
}

void *Runtime::big_allocate(const BigRequest &request, SiteAccounts::Account account) {
  const Refusals before(counters());
  make_room(request.bytes);
  void *p = big_.allocate(request);
  if (!p) {
    counters().fallbacks.add();
  } else {
    charge_big(p, account);
    if (BigObjects::Handle h = big_.find(p))
      g_accounts.note_why_less(account, h.object->superpages >= h.object->whole_units
                                            ? 0
                                            : Refusals(counters()).first_since(before));
  }
  if (request.profile_worth)
    publish_sites();
  if (SMALLOC_UNLIKELY(page_fallback_.wants_to_warn()))
    warn_of_fallback();
  return p;
}

void Runtime::warn_of_fallback() {
  TextBuffer<512> text;
  if (page_fallback_.take_warning(text))
    warn(text.text());
}

void *Runtime::small_allocate(size_t bytes, size_t alignment, bool zero, smalloc_cell *cell) {
  note_size(bytes);
  void *p;
  if (SMALLOC_LIKELY(alignment <= 16))
    p = zero ? g_small.allocate_zeroed(bytes) : g_small.allocate(bytes);
  else {
    p = g_small.allocate_aligned(bytes, alignment);
    if (p && zero)
      memset(p, 0, bytes);
  }
  if (SMALLOC_UNLIKELY(!p))
    counters().fallbacks.add();
  else if (SMALLOC_UNLIKELY(g_accounts.tracks_small()))
    g_accounts.note_small_allocated(p, bytes, g_accounts.account_of(cell));
  if (SMALLOC_UNLIKELY(g_small.main_pages().due()))
    promote_small(g_small.main_pages(), 0);
  if (SMALLOC_UNLIKELY(g_small.growth_due()))
    g_small.grow_further();
  return p;
}

/// Counts bytes allocated at hinted sites. Like direct sites they are counted in batches, so that
/// threads share no cache line.
static void count_placed(smalloc_cell *cell, size_t bytes) {
  t_small.placed_bytes += static_cast<unsigned>(bytes);
  if (t_small.placed_bytes < kDirectBytes &&
      __atomic_load_n(&cell->requested_bytes, __ATOMIC_RELAXED) != 0)
    return;
  __atomic_fetch_add(&cell->requested_bytes, t_small.placed_bytes, __ATOMIC_RELAXED);
  t_small.placed_bytes = 0;
}

/// Allocates a small object of a site with a NUMA hint. If superpages do not pay, it has base pages
/// on its node. nullptr: the hint does not apply; the object is allocated as without one.
void *Runtime::placed_allocate(size_t bytes, size_t alignment, bool zero, smalloc_cell *cell) {
  if (!ready() || alignment > kSuperpageBytes)
    return nullptr;
  const uint64_t word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
  const bool always = SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_SUPERPAGE;
  const bool superpages =
      SMALLOC_WORD_DECISION(word) != SMALLOC_DECISION_BASE && first_step(cell) != PageKind::kMedium;
  void *p = g_node_heaps.allocate(g_placement.of(cell), superpages, bytes, alignment, zero);
  if (!p)
    return nullptr;
  if (SMALLOC_UNLIKELY(g_accounts.tracks_small()))
    g_accounts.note_small_allocated(p, bytes, g_accounts.account_of(cell));
  SmallPages &pages = g_node_heaps.pages();
  if (superpages)
    pages.lower_reach(always ? 0 : SMALLOC_WORD_MIN_PAGES(word) * kBasePageBytes);
  if (SMALLOC_UNLIKELY(pages.due()))
    promote_small(pages, 0);
  return p;
}

void *Runtime::class_allocate(size_t bytes, size_t alignment, bool zero, smalloc_cell *cell) {
  if (g_small.class_frozen())
    return small_allocate(bytes, alignment, zero, cell);
  void *p = g_small.class_allocate(bytes, alignment, zero);
  if (p && SMALLOC_UNLIKELY(g_accounts.tracks_small()))
    g_accounts.note_small_allocated(p, bytes, g_accounts.account_of(cell));
  if (!p)
    counters().fallbacks.add();
  else if (SMALLOC_UNLIKELY(strategy_ == HeapStrategy::kMigrate &&
                            g_small.class_pages().past_reach()))
    migrate_class_heap();
  return p;
}

/// Returns the bytes that the thread has taken at direct sites since it was last armed. Not every
/// request at a direct site ends here when the budget is used up: a resize is never direct.
uint64_t Runtime::directly_taken() const {
  return t_small.direct_armed
             ? static_cast<uint64_t>(most_direct_bytes() - max_of<int64_t>(t_small.direct_bytes, 0))
             : 0;
}

/// Gives the thread a new budget for direct sites, and makes this site direct.
void Runtime::arm_direct(smalloc_cell *cell, uint64_t word, uint64_t requested) {
  const uint64_t taken = directly_taken();
  t_small.direct_armed = !g_small.packs();
  t_small.direct_bytes = t_small.direct_armed ? most_direct_bytes() : 0;
  if (word & (SMALLOC_CELL_DIRECT | SMALLOC_CELL_JOINS))
    __atomic_store_n(&cell->requested_bytes, requested + taken, __ATOMIC_RELAXED);
  else
    __atomic_fetch_or(&cell->word, uint64_t{SMALLOC_CELL_DIRECT}, __ATOMIC_RELAXED);
  cache_is_known();
}

/// Adds `bytes` to the site's sum. Threads may lose each other's counts: the sum is for statistics.
static void count_requested(smalloc_cell *cell, size_t bytes) {
  __atomic_store_n(&cell->requested_bytes,
                   __atomic_load_n(&cell->requested_bytes, __ATOMIC_RELAXED) + bytes,
                   __ATOMIC_RELAXED);
}

/// True if the compiler proved that the program writes every byte of the site's objects.
static bool is_written(const smalloc_cell *cell) {
  const uint64_t word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
  return (SMALLOC_WORD_FLAGS(word) & (SMALLOC_SITE_FULLY_INITIALISED | SMALLOC_SITE_UNDECIDED)) ==
         SMALLOC_SITE_FULLY_INITIALISED;
}

void Runtime::publish_joining_heap() {
  counters().malloc_superpages.set(joining_heap_.filled_superpages());
  counters().malloc_superpages_peak.set(joining_heap_.peak_superpages());
}

void Runtime::look_at_joining_heap(smalloc_cell *cell, const void *p, size_t bytes) {
  const size_t requested = t_small.joined_bytes;
  if (cell)
    count_requested(cell, requested);
  t_small.joined_bytes = 0;
  if (!p) { // the bitmap heap served
    if (__smalloc_v1_pending)
      promote_by_time();
    return;
  }
  // A budget limits the superpages that libsmalloc gives; it includes none of malloc's heap. After
  // mlockall(MCL_FUTURE) all that the break moves over is resident at once.
  if (future_lock() == FutureLock::kNone && options_.pages != PageBacking::kBase &&
      !options_.budget_bytes && !options_.budget_percent && region_.thp_allowed()) {
    t_small.other_arena =
        !joining_heap_.look(kLinux, {p, bytes, cell && is_written(cell), requested}, may_keep_top(),
                            {g_next.malloc, g_next.free, g_next.top_bytes});
    publish_joining_heap();
  } else if (bytes <= JoiningHeap::kMostCachedBytes) { // rows lie there for their layout
    t_small.other_arena = p >= sbrk(0);
  }
  if (joining_heap_.has_grown() &&
      (!g_small.keeps_unused() || raises_peak(JoiningHeap::kGrowthBytes)))
    g_small.purge();
  if (joining_heap_.waits() || joining_heap_.is_large())
    wake_helper();
}

/// Continues joining_allocate(). `cached`: the object from the thread's cache, already counted;
/// nullptr: it had none.
void *Runtime::joining_allocate_slowly(smalloc_cell *cell, size_t bytes, void *cached) {
  void *p = cached;
  bool ours = true;
  if (!p) {
    if (cell && is_for_bitmap(bytes) && !(p = bitmap_allocate(bytes)) &&
        SMALLOC_UNLIKELY(t_small.no_bitmap))
      if (void *q = site_allocate(cell, bytes, kMallocAlignment, false))
        return q; // and later requests do not come here
    ours = p != nullptr;
    // Without heaps the function serves that the program has called, such as operator new: valgrind
    // compares it with that of the free.
    if (!ours && !running())
      return nullptr;
    if (!ours)
      p = g_next.malloc(bytes);
    note_size(bytes);
    if (count_joined(bytes))
      return p;
  }
  look_at_joining_heap(cell, ours ? nullptr : p, bytes);
  return p;
}

/// Serves a request when libsmalloc is the process' malloc. The compiler's decision for a site
/// affects big objects only. Small ones lie in one heap, and the thunk allocates them directly from
/// the next call on.
void *Runtime::process_allocate(smalloc_cell *cell, size_t bytes, size_t alignment, bool zero) {
  const uint64_t word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
  // The classes serve unusual alignments, and other zeroed memory.
  if (!zero && alignment <= kMallocAlignment && joins(cell, bytes))
    return joining_allocate(cell, bytes);
  if (bytes < kSuperpageBytes && alignment <= kSuperpageBytes) {
    if ((!g_small.ready() && strategy_ == HeapStrategy::kAuto) || !ready() || !sites_served_)
      return nullptr; // malloc itself starts the heap
    const bool placed = word & SMALLOC_CELL_PLACED;
    if (placed)
      if (void *p = placed_allocate(bytes, alignment, zero, cell))
        return p;
    if (joins_by_size(bytes, zero) && alignment <= kMallocAlignment)
      return joining_allocate(cell, bytes, zero);
    g_small.main_pages().lower_reach(0);
    void *p = small_allocate(bytes, alignment, zero, cell);
    if (!p)
      return nullptr;
    if (g_accounts.tracks_small() || placed)
      count_requested(cell, bytes);
    else
      arm_direct(cell, word, __atomic_load_n(&cell->requested_bytes, __ATOMIC_RELAXED) + bytes);
    return p;
  }
  if (!ready() || !sites_served_)
    return nullptr;
  const bool decided = SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_SUPERPAGE &&
                       SMALLOC_WORD_DECIDED_BY(word) != SMALLOC_BY_COMPILER;
  const bool written = SMALLOC_WORD_FLAGS(word) & SMALLOC_SITE_FULLY_INITIALISED;
  void *p;
  if (decided || strategy_ == HeapStrategy::kSuperpage)
    p = big_allocate(bytes, alignment, zero,
                     written ? FirstTouch::kWrittenSuperpages : FirstTouch::kSuperpages, false,
                     cell);
  else if (is_deferred(cell) || first_step(cell) == PageKind::kMedium)
    p = big_allocate(bytes, alignment, zero, FirstTouch::kBase, false, cell);
  else if (written && !(SMALLOC_WORD_FLAGS(word) & SMALLOC_SITE_UNDECIDED))
    p = big_allocate(bytes, alignment, zero, FirstTouch::kSuperpagesIfCheap, false, cell);
  else
    p = filling_allocate(bytes, alignment, zero, cell, nullptr);
  if (p) {
    __atomic_fetch_add(&cell->requested_bytes, bytes, __ATOMIC_RELAXED);
    g_accounts.account_of(cell); // takes over the cell's sum
    if (SMALLOC_UNLIKELY(__smalloc_v1_pending))
      wake_helper();
  }
  return p;
}

/// True if libsmalloc serves the small objects of a site under heap:guest and heap:migrate. A
/// profile's or directive's decision takes effect at once. Sites decided only by the compiler stay
/// with the program's malloc, beside its other objects. Undecided sites are served under
/// heap:migrate.
bool Runtime::may_serve(smalloc_cell *cell, uint64_t word) {
  const bool undecided = SMALLOC_WORD_FLAGS(word) & SMALLOC_SITE_UNDECIDED;
  if (undecided ? strategy_ != HeapStrategy::kMigrate ||
                      __atomic_load_n(&cell->requested_bytes, __ATOMIC_RELAXED) < kSiteWarmupBytes
                : SMALLOC_WORD_DECIDED_BY(word) == SMALLOC_BY_COMPILER)
    return false;
  SmallPages &pages = undecided ? g_small.class_pages() : g_small.main_pages();
  pages.lower_reach(SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_SUPERPAGE
                        ? 0
                        : SMALLOC_WORD_MIN_PAGES(word) * kBasePageBytes);
  __atomic_fetch_or(&cell->word, uint64_t{SMALLOC_CELL_SERVED} << 8, __ATOMIC_RELAXED);
  return true;
}

void *Runtime::site_allocate(smalloc_cell *cell, size_t bytes, size_t alignment, bool zero) {
  const uint64_t word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
  const bool undecided = SMALLOC_WORD_DECISION(word) != SMALLOC_DECISION_SUPERPAGE &&
                         (SMALLOC_WORD_FLAGS(word) & SMALLOC_SITE_UNDECIDED);
  const bool placed = SMALLOC_UNLIKELY(word & SMALLOC_CELL_PLACED);
  // A directive's hint applies from the first object on.
  if (placed && bytes < kSuperpageBytes && SMALLOC_WORD_DECIDED_BY(word) == SMALLOC_BY_DIRECTIVE) {
    if (void *p = placed_allocate(bytes, alignment, zero, cell)) {
      count_placed(cell, bytes);
      return p;
    }
  }
  if (SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_BASE && !undecided) {
    // No superpages, but a NUMA hint or a directive's base pages work only in libsmalloc's memory.
    const bool directed = serves_process() && SMALLOC_WORD_DECIDED_BY(word) == SMALLOC_BY_DIRECTIVE;
    if (bytes < kSuperpageBytes || !ready() ||
        (!directed && g_placement.of(cell).kind == numa::PlacementKind::kNone))
      return nullptr;
    return big_allocate(bytes, alignment, zero, FirstTouch::kBase, false, cell);
  }

  return serves_process() ? process_allocate(cell, bytes, alignment, zero)
                          : guest_allocate(cell, bytes, alignment, zero);
}

/// Serves a request of a site beside the program's malloc (heap:guest and heap:migrate). nullptr:
/// that has to serve.
void *Runtime::guest_allocate(smalloc_cell *cell, size_t bytes, size_t alignment, bool zero) {
  const uint64_t word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
  const unsigned flags = SMALLOC_WORD_FLAGS(word);
  const bool always = SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_SUPERPAGE;
  const bool undecided = !always && (flags & SMALLOC_SITE_UNDECIDED);
  const bool placed = SMALLOC_UNLIKELY(word & SMALLOC_CELL_PLACED);
  const uint64_t min_bytes = SMALLOC_WORD_MIN_PAGES(word) * kBasePageBytes;
  if (SMALLOC_LIKELY(bytes < kSuperpageBytes)) {
    if (undecided) {
      if (strategy_ != HeapStrategy::kMigrate)
        return nullptr;
    } else if (!always && !(flags & SMALLOC_SITE_SMALL) && bytes < min_bytes) {
      return nullptr;
    }
    const uint64_t requested = __atomic_load_n(&cell->requested_bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&cell->requested_bytes, requested + bytes, __ATOMIC_RELAXED);
    if (SMALLOC_UNLIKELY(!(flags & SMALLOC_CELL_SERVED)) && !may_serve(cell, word))
      return nullptr;
    if (SMALLOC_UNLIKELY(!ready()) || SMALLOC_UNLIKELY(!sites_served_) ||
        SMALLOC_UNLIKELY(alignment > kSuperpageBytes))
      return nullptr;
    if (SMALLOC_UNLIKELY(undecided))
      return class_allocate(bytes, alignment, zero, cell);
    void *p = placed ? placed_allocate(bytes, alignment, zero, cell) : nullptr;
    if (p)
      return p;
    p = small_allocate(bytes, alignment, zero, cell);
    if (SMALLOC_LIKELY(p) && SMALLOC_LIKELY(!g_accounts.tracks_small()) && !placed)
      arm_direct(cell, word, requested + bytes);
    return p;
  }

  // A big object of a site with small objects counts as growth of its heap. Any other must pay by
  // its own size.
  if (bytes < min_bytes && !((flags & SMALLOC_SITE_SMALL) && g_small.main_pages().past_reach()))
    return nullptr;
  if (!ready() || !sites_served_)
    return nullptr;
  bool known_hot = always && (SMALLOC_WORD_DECIDED_BY(word) != SMALLOC_BY_COMPILER ||
                              strategy_ == HeapStrategy::kSuperpage);
  const bool written = flags & SMALLOC_SITE_FULLY_INITIALISED;
  FirstTouch touch = known_hot ? written ? FirstTouch::kWrittenSuperpages : FirstTouch::kSuperpages
                     : !undecided && written ? FirstTouch::kSuperpagesIfCheap
                                             : FirstTouch::kBase;
  void *p = big_allocate(bytes, alignment, zero, touch, false, cell);
  if (p) {
    __atomic_store_n(&cell->requested_bytes,
                     __atomic_load_n(&cell->requested_bytes, __ATOMIC_RELAXED) + bytes,
                     __ATOMIC_RELAXED);
    g_accounts.account_of(cell); // takes over the cell's sum
  }
  return p;
}

void Runtime::site_mapped(smalloc_cell *cell, void *p, size_t bytes) {
  uint64_t word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
  unsigned flags = SMALLOC_WORD_FLAGS(word);
  bool always = SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_SUPERPAGE;
  bool undecided = !always && (flags & SMALLOC_SITE_UNDECIDED);
  if (bytes < kSuperpageBytes || bytes < SMALLOC_WORD_MIN_PAGES(word) * kBasePageBytes ||
      first_step(cell) == PageKind::kMedium || !ready() || !region_.thp_allowed())
    return;
  bool known_hot = always && (SMALLOC_WORD_DECIDED_BY(word) != SMALLOC_BY_COMPILER ||
                              strategy_ == HeapStrategy::kSuperpage);
  bool at_first_touch = known_hot || (!undecided && (flags & SMALLOC_SITE_FULLY_INITIALISED));
  // Advised memory and a later mapping into a hole of it do not become one mapping, and mremap
  // takes only one.
  at_first_touch = at_first_touch && !image_mentions(cell, "mremap");
  if (!at_first_touch && options_.promote == PromotePolicy::kOff)
    return;
  KeepErrno keep;
  mapped_.born(static_cast<char *>(p), bytes, at_first_touch,
               known_hot ? nullptr : &first_touch_cost_, options_.promote != PromotePolicy::kOff);
}

bool Runtime::site_accepts(smalloc_cell *cell, size_t bytes) {
  uint64_t word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
  unsigned flags = SMALLOC_WORD_FLAGS(word);
  bool always = SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_SUPERPAGE;
  bool undecided = !always && (flags & SMALLOC_SITE_UNDECIDED);
  if (SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_BASE && !undecided)
    return false;
  if (bytes < kSuperpageBytes) {
    if (joins(cell, bytes))
      return false;
    if (undecided ? strategy_ != HeapStrategy::kMigrate
                  : !always && !(flags & SMALLOC_SITE_SMALL) &&
                        bytes < SMALLOC_WORD_MIN_PAGES(word) * kBasePageBytes)
      return false;
    return serves_all() || (flags & SMALLOC_CELL_SERVED);
  }
  return bytes >= SMALLOC_WORD_MIN_PAGES(word) * kBasePageBytes;
}

} // namespace smalloc
