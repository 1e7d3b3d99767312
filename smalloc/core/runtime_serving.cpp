// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime_serving.cpp decides whether a site's small objects come from our heap or stay with the
// program's malloc: asked at the first requests of a site and then once in 64 KiB of them, so nothing
// here is on a fast path.
#include "smalloc/base/keep_errno.h"
#include "smalloc/core/malloc_holes.h"
#include "smalloc/core/runtime.h"
#include "smalloc/os/program_heap.h"

namespace smalloc {
/// Of the bytes that a site has requested, 4, 8, 16 ... MiB: time to look at the process.
static bool is_look(uint64_t before, uint64_t after) {
  return after >= kSiteWarmupBytes && __builtin_clzll(after) != __builtin_clzll(before | 1);
}

/// Is the heap of the program's malloc more than a quarter of the process, and mostly of others? What lies there already
/// would not be filled up again when it dies: once everything was replaced, the process would have twice the memory. A
/// program most of whose memory are large objects risks little (cadical: a tenth); so does one whose heap has just begun to
/// grow, with this site's objects: some 16 MiB. It must have grown by half of what the site has asked for since the last
/// look, or the objects have died again, or taken the places of dead ones, and others lie there. And hardly anything else may
/// lie there: what libraries ask for (strings) is born and dies between the site's objects without our knowledge, so that
/// the holes that those leave are now there and now not. Where more lies in our heap already, its holes are the ones to fill.
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
  return bytes > kBegun || requested < bytes / 2 || grown < asked / 2 ||
         g_site_sizes.places() < bytes / 4 * 3;
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
  __atomic_fetch_and(&cell->word, ~(uint64_t{SMALLOC_CELL_SERVED} << 8 | SMALLOC_CELL_DIRECT),
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

/// The program's malloc serves the site: who counts what it asks for from now on?
void Runtime::count_where_left(smalloc_cell *cell, uint64_t word) {
  const uint64_t counts = g_site_sizes.is_shared(cell) ? SMALLOC_CELL_SHARED : SMALLOC_CELL_LEFT;
  constexpr uint64_t kEither = SMALLOC_CELL_SHARED | SMALLOC_CELL_LEFT;
  if ((word & kEither) == counts)
    return;
  __atomic_fetch_and(&cell->word, ~kEither, __ATOMIC_RELAXED);
  __atomic_fetch_or(&cell->word, counts, __ATOMIC_RELAXED);
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

} // namespace smalloc
