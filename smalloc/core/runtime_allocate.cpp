// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime_allocate.cpp decides which heap serves a request, if any: from the cell's word, the
// request's size and the state of our heaps. The order of tests is the order of costs: a request
// that is not ours leaves after a few compares.
#include "smalloc/agent/agent.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/core/malloc_holes.h"
#include "smalloc/core/modules.h"
#include "smalloc/core/node_heaps.h"
#include "smalloc/core/object_placement.h"
#include "smalloc/core/promotion_thread.h"
#include "smalloc/core/runtime.h"
#include "smalloc/core/thread_cache.h"
#include "smalloc/include/smalloc/smalloc.h"
#include "smalloc/os/loaded_objects.h"
#include "smalloc/os/own_image.h"
#include "smalloc/os/program_heap.h"
#include <stdlib.h>

namespace smalloc {
namespace {
/// Did the agent keep the site's objects on base pages for now?
bool is_deferred(const smalloc_cell *cell) {
  const uint64_t word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
  return SMALLOC_WORD_DECIDED_BY(word) == SMALLOC_BY_DIRECTIVE &&
         SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_RUNTIME;
}
/// The page size that a profile or a directive has named for the site, as a first step of the ladder.
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
} // namespace

void Runtime::charge_big(void *p, SiteAccounts::Account account) {
  if (BigObjects::Handle h = big_.find(p))
    g_accounts.big_born(p, account, h.object->bytes, h.object->superpages);
  if (SMALLOC_UNLIKELY(g_agent.active()))
    agent_charged(account);
}

void *Runtime::big_allocate(size_t bytes, size_t alignment, bool zero, bool at_birth, bool whole,
                            smalloc_cell *cell, numa::Placement placement, PageKind first) {
  BigRequest request;
  request.bytes = bytes;
  request.alignment = alignment;
  request.zero = zero;
  request.superpages_at_birth = at_birth;
  request.whole_superpages = whole;
  request.promotable = options_.promote != PromotePolicy::kOff && !(cell && is_deferred(cell));
  request.placement = cell ? g_placement.of(cell) : placement;
  request.first = cell ? first_step(cell) : first;
  void *p = big_.allocate(request);
  if (!p)
    counters().fallbacks.add();
  else
    charge_big(p, g_accounts.account_of(cell));
  if (SMALLOC_UNLIKELY(ladder_.wants_to_warn()))
    warn_of_fallback();
  return p;
}

void Runtime::warn_of_fallback() {
  TextBuffer<512> text;
  if (ladder_.take_warning(text))
    warn(text.text());
}

void *Runtime::small_allocate(size_t bytes, size_t alignment, bool zero, smalloc_cell *cell) {
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
    g_accounts.small_born(p, bytes, g_accounts.account_of(cell));
  if (SMALLOC_UNLIKELY(g_small.main_pages().due()))
    promote_small(g_small.main_pages(), 0);
  return p;
}

/// What a thread gets at hinted sites is counted as that at direct ones is: by the way, so that threads share no line.
static void count_placed(smalloc_cell *cell, size_t bytes) {
  t_small.placed_bytes += static_cast<unsigned>(bytes);
  if (t_small.placed_bytes < kDirectBytes &&
      __atomic_load_n(&cell->requested_bytes, __ATOMIC_RELAXED) != 0)
    return;
  __atomic_fetch_add(&cell->requested_bytes, t_small.placed_bytes, __ATOMIC_RELAXED);
  t_small.placed_bytes = 0;
}

/// A small object of a site that has a hint. Where superpages do not pay it has base pages, on its node all the same. nullptr: the
/// hint says nothing here, and the object comes from where it would without.
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
    g_accounts.small_born(p, bytes, g_accounts.account_of(cell));
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
    g_accounts.small_born(p, bytes, g_accounts.account_of(cell));
  if (!p)
    counters().fallbacks.add();
  else if (SMALLOC_UNLIKELY(strategy_ == HeapStrategy::kMigrate &&
                            g_small.class_pages().past_reach()))
    migrate_class_heap();
  return p;
}

/// Of the bytes that a site has requested, 4, 8, 16 ... MiB: time to look at the process.
static bool is_look(uint64_t before, uint64_t after) {
  return after >= kSiteWarmupBytes && __builtin_clzll(after) != __builtin_clzll(before | 1);
}

/// Is the heap of the program's malloc more than a quarter of the process, and mostly of others? What lies there already
/// would not be filled up again when it dies: once everything was replaced, the process would have twice the memory. A
/// program most of whose memory are large objects risks little (cadical: a tenth); so does one whose heap has just begun to
/// grow, with this site's objects: some 16 MiB. It must have grown by half of what the site has asked for since the last
/// look, or the objects have died again, or taken the places of dead ones, and others lie there. Where more lies in our heap
/// already, its holes are the ones to fill.
static bool may_leave_holes(uint64_t resident, const smalloc_cell *cell, uint64_t requested) {
  KeepErrno keep;
  ProgramHeap heap;
  if (!program_heap(kLinux, heap))
    return false;
  const auto bytes = static_cast<uint64_t>(heap.end - heap.start);
  constexpr uint64_t kBegun = uint64_t{24} << 20;
  if (bytes <= resident / 4 || bytes <= g_small.main_pages().live_bytes())
    return false;
  const auto end = reinterpret_cast<uintptr_t>(heap.end);
  const SiteSizes::HeapThen then = g_site_sizes.heap_then(cell);
  const uint64_t grown = end - min_of(end, then.end),
                 asked = requested - min_of(requested, then.requested);
  return bytes > kBegun || requested < bytes / 2 || grown < asked / 2;
}

/// heap:migrate serves undecided sites, too, because it was asked to.
static bool sizes_pay(const smalloc_cell *cell) {
  const bool undecided =
      SMALLOC_WORD_FLAGS(__atomic_load_n(&cell->word, __ATOMIC_RELAXED)) & SMALLOC_SITE_UNDECIDED;
  return g_site_sizes.pays(cell, undecided ? Asks::kForOneSize : asks_for(cell));
}

/// Shall our heap serve the small requests of a site from this one on? Asked at one request in 64 KiB until it is so; the
/// process' memory is read at 4, 8, 16 ... MiB requested.
bool Runtime::start_serving(smalloc_cell *cell, uint64_t word, uint64_t requested, uint64_t added,
                            size_t bytes) {
  if (g_site_sizes.is_filling(cell)) {
    if (fills_holes(cell, bytes))
      return false;
    g_site_sizes.set_filling(cell, false);
    if (sizes_pay(cell)) {
      serve(cell, word);
      return true;
    }
  }
  if (strategy_ != HeapStrategy::kSuperpage) {
    if (!is_look(requested, requested + added))
      return false;
    bool always = SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_SUPERPAGE;
    bool undecided = !always && (SMALLOC_WORD_FLAGS(word) & SMALLOC_SITE_UNDECIDED);
    uint64_t needed = always      ? kSiteWarmupBytes
                      : undecided ? reach_bytes_
                                  : SMALLOC_WORD_MIN_PAGES(word) * kBasePageBytes;
    const uint64_t resident = resident_bytes(kLinux);
    if (resident < needed) {
      g_site_sizes.left(cell, {program_heap_end(), requested + added});
      return false;
    }
    if (sizes_decide(word)) {
      Counter *why =
          !sizes_pay(cell)                 ? &counters().left_for_sizes
          : g_site_sizes.has_sibling(cell) ? &counters().left_for_siblings
          : !g_malloc_holes.are_of(bytes) && may_leave_holes(resident, cell, requested + added)
              ? &counters().left_for_holes
          : !g_small.ready() && resident < kLeastProcessBytes ? &counters().left_for_process
                                                              : nullptr;
      if (why) {
        why->add();
        g_site_sizes.left(cell, {program_heap_end(), requested + added});
        watch_program_heap();
        return false;
      }
    }
  }
  serve(cell, word);
  return true;
}

void Runtime::serve(smalloc_cell *cell, uint64_t word) {
  // How much must be live in the heap before superpages pay.
  SmallPages &pages = SMALLOC_WORD_FLAGS(word) & SMALLOC_SITE_UNDECIDED ? g_small.class_pages()
                                                                        : g_small.main_pages();
  pages.lower_reach(SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_SUPERPAGE
                        ? 0
                        : SMALLOC_WORD_MIN_PAGES(word) * kBasePageBytes);
  __atomic_fetch_or(&cell->word, uint64_t{SMALLOC_CELL_SERVED} << 8, __ATOMIC_RELAXED);
  __atomic_fetch_and(&cell->word, ~uint64_t{SMALLOC_CELL_LEFT | SMALLOC_CELL_SHARED},
                     __ATOMIC_RELAXED);
  if (sizes_decide(word))
    g_next.count_frees();
}

/// The site has objects in the heap of the program's malloc, which gets its superpages in place.
void Runtime::watch_program_heap() {
  if (options_.promote == PromotePolicy::kOff || !ready() || !region_.thp_allowed())
    return;
  KeepErrno keep;
  if (ProgramHeap heap; program_heap(kLinux, heap))
    mapped_.heap_grown(heap.start, heap.end);
}

/// Our heap serves the site no longer.
static void leave(smalloc_cell *cell) {
  __atomic_fetch_and(&cell->word, ~(uint64_t{SMALLOC_CELL_SERVED | SMALLOC_CELL_DIRECT} << 8),
                     __ATOMIC_RELAXED);
}

/// One request in 64 KiB of a site: does it still pay to serve it, if it is served? False: no longer. What it has got
/// stays.
bool Runtime::may_go_on(smalloc_cell *cell, uint64_t word, size_t bytes, uint64_t apart) {
  if (!sizes_decide(word))
    return true;
  const bool looks = g_site_sizes.sample(cell, bytes, apart, &t_small);
  g_site_sizes.began(cell, program_heap_end());
  if (!(SMALLOC_WORD_FLAGS(word) & SMALLOC_CELL_SERVED)) {
    g_small.tick_outside();
    const size_t place = glibc_place_bytes(bytes);
    g_malloc_holes.filled(apart / max_of<size_t>(bytes, 1) * place, place);
  } else if (const bool shared = g_site_sizes.is_shared(cell);
             may_fill(word) && (shared ? may_fill_alone(cell, bytes) : fills_holes(cell, bytes))) {
    counters().turns_to_holes.add();
    if (!shared) {
      g_site_sizes.set_filling(cell, true);
      leave(cell);
    }
    return false;
  }
  if (!looks)
    return true;
  if (!(SMALLOC_WORD_FLAGS(word) & SMALLOC_CELL_SERVED)) {
    if (mapped_.any())
      promote_by_time();
    return true;
  }
  size_t before[SiteSizes::kBefore], roomy[SmallHeap::kMostRoomy];
  const unsigned sizes = g_site_sizes.sizes_before(cell, before);
  unsigned with_room;
  if (g_small.roomy_slots(sizes != 0, roomy, with_room)) {
    for (unsigned i = 0; i < with_room; i++)
      if (has_slot(before, sizes, roomy[i]))
        g_site_sizes.set_alternates(cell);
    g_site_sizes.asks_beside(cell, roomy, with_room, g_small.main_pages().live_bytes());
  }
  if (sizes_pay(cell)) {
    trim_program_heap();
    return true;
  }
  counters().left_for_sizes.add();
  leave(cell);
  return false;
}

/// What a request adds to what its site has requested: its bytes, or, at a site that several threads share, what this
/// thread has taken from all of those since its last sample. False: nothing is added yet.
static bool count_request(smalloc_cell *cell, uint64_t word, uint64_t &bytes, uint64_t &requested) {
  if (SMALLOC_LIKELY(!(word & SMALLOC_CELL_SHARED))) {
    requested = __atomic_load_n(&cell->requested_bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&cell->requested_bytes, requested + bytes, __ATOMIC_RELAXED);
    return true;
  }
  constexpr uint64_t kApart = SiteSizes::kSharedSampleBytes;
  if (t_small.left_bytes < kApart && Runtime::counts_apart(bytes)) // else an entry has counted it
    return false;
  bytes = t_small.left_bytes / kApart * kApart;
  t_small.left_bytes -= bytes;
  requested = __atomic_fetch_add(&cell->requested_bytes, bytes, __ATOMIC_RELAXED);
  return true;
}

/// The program's malloc serves the site: who counts what it asks for from now on?
static void count_where_left(smalloc_cell *cell, uint64_t word) {
  const uint64_t counts = g_site_sizes.is_shared(cell) ? SMALLOC_CELL_SHARED : SMALLOC_CELL_LEFT;
  constexpr uint64_t kEither = SMALLOC_CELL_SHARED | SMALLOC_CELL_LEFT;
  if ((word & kEither) == counts)
    return;
  __atomic_fetch_and(&cell->word, ~kEither, __ATOMIC_RELAXED);
  __atomic_fetch_or(&cell->word, counts, __ATOMIC_RELAXED);
}

/// Bytes of direct sites that the thread has taken without asking since it was last armed. Not every request at a direct
/// site comes when they are used up: a resize is never direct.
static uint64_t directly_taken() {
  return t_small.direct_armed
             ? static_cast<uint64_t>(kDirectBytes - max_of<int64_t>(t_small.direct_bytes, 0))
             : 0;
}

/// The thread may take small objects of direct sites without asking for a while, and this site is one from now on.
void Runtime::arm_direct(smalloc_cell *cell, uint64_t word, uint64_t requested) {
  const uint64_t taken = directly_taken();
  t_small.direct_armed = !g_small.packs() && !t_small.fill_objects;
  t_small.direct_bytes = t_small.direct_armed ? kDirectBytes : 0;
  if (SMALLOC_WORD_FLAGS(word) & SMALLOC_CELL_DIRECT)
    __atomic_store_n(&cell->requested_bytes, requested + taken, __ATOMIC_RELAXED);
  else
    __atomic_fetch_or(&cell->word, uint64_t{SMALLOC_CELL_DIRECT} << 8, __ATOMIC_RELAXED);
  cache_is_known();
}

void *Runtime::site_allocate(smalloc_cell *cell, size_t bytes, size_t alignment, bool zero) {
  uint64_t word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
  unsigned flags = SMALLOC_WORD_FLAGS(word);
  bool always = SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_SUPERPAGE;
  bool undecided = !always && (flags & SMALLOC_SITE_UNDECIDED);
  uint64_t min_bytes = SMALLOC_WORD_MIN_PAGES(word) * kBasePageBytes;
  const bool placed = SMALLOC_UNLIKELY(word & SMALLOC_CELL_PLACED);
  // Asked for: from the first object on.
  if (placed && bytes < kSuperpageBytes && SMALLOC_WORD_DECIDED_BY(word) == SMALLOC_BY_DIRECTIVE) {
    if (void *p = placed_allocate(bytes, alignment, zero, cell)) {
      count_placed(cell, bytes);
      return p;
    }
  }
  if (SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_BASE && !undecided) {
    // No superpages, and yet ours: only here can it have a node.
    if (bytes < kSuperpageBytes || g_placement.of(cell).kind == numa::PlacementKind::kNone ||
        !ready())
      return nullptr;
    return big_allocate(bytes, alignment, zero, false, false, cell);
  }

  if (SMALLOC_LIKELY(bytes < kSuperpageBytes)) {
    if (undecided) {
      if (strategy_ != HeapStrategy::kMigrate)
        return nullptr;
    } else if (!always && !(flags & SMALLOC_SITE_SMALL) && bytes < min_bytes) {
      return nullptr;
    }
    if (SMALLOC_UNLIKELY(t_small.fill_objects) && fills_alone(cell, word, bytes))
      return nullptr;
    uint64_t requested, added = bytes;
    if (!count_request(cell, word, added, requested))
      return nullptr;
    const uint64_t apart = word & SMALLOC_CELL_SHARED ? added : uint64_t{SiteSizes::kSampleBytes};
    if (SMALLOC_UNLIKELY(
            (word & SMALLOC_CELL_SHARED) ||
            SiteSizes::is_sample(requested,
                                 requested + bytes +
                                     (flags & SMALLOC_CELL_DIRECT ? directly_taken() : 0))) &&
        !may_go_on(cell, word, bytes, apart))
      return nullptr;
    if (SMALLOC_UNLIKELY(!(flags & SMALLOC_CELL_SERVED)) &&
        !start_serving(cell, word, requested, added, bytes)) {
      if (left_outside(word))
        count_where_left(cell, word);
      return nullptr;
    }
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

  // A small site's big object counts like its heap's growth; every other one must pay by its own
  // size.
  if (bytes < min_bytes && !((flags & SMALLOC_SITE_SMALL) && g_small.main_pages().past_reach()))
    return nullptr;
  if (!ready() || !sites_served_)
    return nullptr;
  bool known_hot = always && (SMALLOC_WORD_DECIDED_BY(word) != SMALLOC_BY_COMPILER ||
                              strategy_ == HeapStrategy::kSuperpage);
  bool at_birth = known_hot || (!undecided && (flags & SMALLOC_SITE_FULLY_INITIALISED));
  void *p = big_allocate(bytes, alignment, zero, at_birth, false, cell);
  if (p) {
    __atomic_store_n(&cell->requested_bytes,
                     __atomic_load_n(&cell->requested_bytes, __ATOMIC_RELAXED) + bytes,
                     __ATOMIC_RELAXED);
    g_accounts.account_of(cell); // takes the sum over
  }
  return p;
}

void Runtime::resized_outside(smalloc_cell *cell, size_t had, size_t bytes) {
  const uint64_t word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
  if (!left_outside(word) || bytes >= kSuperpageBytes)
    return;
  const uint64_t stands_for = SiteSizes::kSampleBytes / resize_ticks(bytes);
  const uint64_t grown = g_site_sizes.grown_by(cell, stands_for * (bytes - min_of(had, bytes)));
  uint64_t before;
  if (word & SMALLOC_CELL_SHARED) {
    t_small.left_bytes %= SiteSizes::kSharedSampleBytes;
    before = __atomic_fetch_add(&cell->requested_bytes, grown, __ATOMIC_RELAXED);
  } else {
    // The clock has brought the count to the next multiple of kSampleBytes.
    const uint64_t clock =
        __atomic_load_n(&cell->requested_bytes, __ATOMIC_RELAXED) + resize_ticks(bytes);
    before = clock - min_of(clock, SiteSizes::kSampleBytes); // another thread may have been here
    __atomic_store_n(&cell->requested_bytes, before + grown, __ATOMIC_RELAXED);
  }
  count_where_left(cell, word);
  if (grown == 0)
    return;
  may_go_on(cell, word, bytes, grown);
  g_site_sizes.grew(cell);
  // Taking the object over would leave a hole there for each.
  if (is_look(before, before + grown) && sizes_decide(word)) {
    counters().left_for_sizes.add();
    watch_program_heap();
  }
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
  bool at_birth = known_hot || (!undecided && (flags & SMALLOC_SITE_FULLY_INITIALISED));
  // What was advised and what the program maps into a hole of it later do not become one mapping, and mremap takes only one.
  at_birth = at_birth && !image_mentions(cell, "mremap");
  if (!at_birth && options_.promote == PromotePolicy::kOff)
    return;
  KeepErrno keep;
  mapped_.born(static_cast<char *>(p), bytes, at_birth);
}

bool Runtime::site_accepts(smalloc_cell *cell, size_t bytes) {
  uint64_t word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
  unsigned flags = SMALLOC_WORD_FLAGS(word);
  bool always = SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_SUPERPAGE;
  bool undecided = !always && (flags & SMALLOC_SITE_UNDECIDED);
  if (SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_BASE && !undecided)
    return false;
  if (bytes < kSuperpageBytes) {
    if (undecided ? strategy_ != HeapStrategy::kMigrate
                  : !always && !(flags & SMALLOC_SITE_SMALL) &&
                        bytes < SMALLOC_WORD_MIN_PAGES(word) * kBasePageBytes)
      return false;
    return strategy_ == HeapStrategy::kSuperpage || (flags & SMALLOC_CELL_SERVED);
  }
  return bytes >= SMALLOC_WORD_MIN_PAGES(word) * kBasePageBytes;
}

/// Every request of usual alignment may go to the thread's cache, and this thread's others to jemalloc for a while.
void Runtime::arm_any() {
  const bool packs = g_small.packs();
  t_small.any_bytes = packs ? 0 : kDirectBytes;
  const size_t below = cache_is_known() && !packs ? kMostCachedLookup + 1 : 0;
  if (SMALLOC_UNLIKELY(g_malloc_entry.cached_below.load(std::memory_order_relaxed) != below))
    g_malloc_entry.cached_below.store(below, std::memory_order_relaxed);
}

/// The calling thread is bound to an arena, and has an object.
bool Runtime::cache_is_known() {
  if (SMALLOC_UNLIKELY(!cache_looked_at_.load(std::memory_order_relaxed)) &&
      !cache_looked_at_.exchange(true)) {
    const bool known = thread_cache_is_known([](const void *p) { return g_range.contains(p); });
    cache_known_.store(known);
    g_malloc_entry.direct_below.store(known ? kMostCachedLookup + 1 : 0, std::memory_order_relaxed);
    if (!options_.text_on_superpages)
      drop_own_file_pages(); // jemalloc's control interface has been asked
    if (known && region_.start() % (size_t{1} << kPagePartShift) == 0)
      g_known_pages.cover(g_range.main_heap_bytes.load(std::memory_order_relaxed));
  }
  return cache_known_.load(std::memory_order_relaxed);
}

/// Requests that are not ours by their size need no look while nothing waits for promotion. What begins to wait ends that
/// (Region::add_pending), perhaps between our question and our answer: so we ask again.
void Runtime::let_foreign_pass() {
  if (__atomic_load_n(&__smalloc_v1_pending, __ATOMIC_SEQ_CST) != 0)
    return;
  g_malloc_entry.foreign_below.store(foreign_below_.load(std::memory_order_relaxed));
  if (__atomic_load_n(&__smalloc_v1_pending, __ATOMIC_SEQ_CST) != 0)
    g_malloc_entry.foreign_below.store(0);
}
/// The calling thread has made as many calls as may pass without a look.
static bool looks_now() {
  if (static_cast<int>(--t_small.calls_until_look) >= 0)
    return false;
  t_small.calls_until_look = kCallsPerLook;
  return true;
}

/// heap:superpage. A thread that has been here may go on directly for a while; here is where promotions that are due get
/// their turn.
void *Runtime::any_allocate(size_t bytes, size_t alignment, bool zero) {
  if (!ready() || !sites_served_)
    return nullptr;
  if (__smalloc_v1_pending && (!g_accounts.tracks_small() || looks_now()))
    promote_by_time();
  if (bytes >= kSuperpageBytes || alignment > kSuperpageBytes)
    return big_allocate(max_of<size_t>(bytes, 1), alignment, zero, true);
  void *p = small_allocate(bytes, alignment, zero);
  if (p && !g_accounts.tracks_small())
    arm_any();
  return p;
}

void *Runtime::sized_allocate(size_t bytes, size_t alignment, bool zero) {
  if (SMALLOC_UNLIKELY(is_off()))
    return nullptr;
  const HeapStrategy heap = options().heap;
  if (heap == HeapStrategy::kSuperpage)
    return any_allocate(bytes, alignment, zero);
  static std::atomic<uint64_t> requested{0};
  if (looks_now() && __smalloc_v1_pending)
    promote_by_time();
  // The reach is known once the heaps run; before, whatever may hold a superpage is a reason to look.
  size_t least_big = running() ? max_of<size_t>(kSuperpageBytes, reach_bytes_) : kSuperpageBytes;
  if (heap == HeapStrategy::kSplit)
    foreign_below_.store(least_big, std::memory_order_relaxed);
  else if (heap == HeapStrategy::kOff)
    foreign_below_.store(SIZE_MAX, std::memory_order_relaxed);
  let_foreign_pass();
  switch (heap) {
  case HeapStrategy::kOff:
    return nullptr;
  case HeapStrategy::kMigrate:
    if (bytes < kSuperpageBytes && alignment <= kSuperpageBytes) {
      if (requested.load(std::memory_order_relaxed) < kSiteWarmupBytes) {
        requested.fetch_add(bytes, std::memory_order_relaxed);
        return nullptr;
      }
      if (!ready() || !sites_served_)
        return nullptr;
      g_small.class_pages().lower_reach(reach_bytes_);
      return class_allocate(bytes, alignment, zero);
    }
    break;
  case HeapStrategy::kSuperpage:
  case HeapStrategy::kSplit:
    break;
  }
  if (bytes < least_big || !ready() || !sites_served_ || bytes < reach_bytes_)
    return nullptr;
  void *p = big_allocate(bytes, alignment, zero, false);
  if (p && options_.promoter_thread && options_.promote != PromotePolicy::kOff)
    promotion_thread_wake();
  return p;
}

void *Runtime::kind_allocate(size_t bytes, size_t alignment, bool zero, int kind) {
  if (!ready())
    return nullptr;
  bool big = bytes >= kSuperpageBytes || alignment > kSuperpageBytes;
  switch (kind) {
  case SMALLOC_BASE: {
    if (!big)
      return class_allocate(bytes, alignment, zero);
    return big_allocate(bytes, alignment, zero, false);
  }
  case SMALLOC_SUPERPAGE:
    return big ? big_allocate(bytes, alignment, zero, true, true)
               : small_allocate(bytes, alignment, zero);
  default:
    return big ? big_allocate(bytes, alignment, zero, true)
               : small_allocate(bytes, alignment, zero);
  }
}

} // namespace smalloc
