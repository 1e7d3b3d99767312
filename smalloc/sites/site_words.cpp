// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// site_words.cpp passes over the sites of an image once for each source of decisions. A later
// source overrules an earlier one: strategy, joined summaries, directives. Barred sites come last.
#include "smalloc/sites/site_words.h"
#include "smalloc/agent/agent.h"
#include "smalloc/os/scratch_pages.h"
#include "smalloc/sites/key_join.h"
#include "smalloc/sites/modules.h"
#include "smalloc/sites/object_placement.h"

#include <string.h>

namespace smalloc {

namespace {

void set_word(smalloc_cell *cell, uint64_t word) {
  __atomic_store_n(&cell->word, word, __ATOMIC_RELAXED);
}
/// True if the site may call operator new: a function that returns fresh memory may end in it.
bool may_be_cxx(const smalloc_site *site) {
  const char *callee = site_string(site, site->callee);
  return (site->flags & SMALLOC_SITE_CONTEXT) || strncmp(callee, "_Zn", 3) == 0 ||
         strncmp(callee, "operator new", 12) == 0;
}
bool is_barred(const smalloc_site *site, const smalloc_module &module) {
  return module.barred == kAllSites || (module.barred == kCxxSites && may_be_cxx(site));
}
void switch_barred_off(const smalloc_site *site, smalloc_cell *cell, void *module) {
  if (is_barred(site, *static_cast<const smalloc_module *>(module)))
    set_word(cell, 0);
}
uint64_t pages_from(uint64_t min_bytes) {
  if (min_bytes == SMALLOC_UNKNOWN)
    return UINT32_MAX;
  return min_of<uint64_t>(min_bytes / kBasePageBytes + (min_bytes % kBasePageBytes != 0),
                          UINT32_MAX);
}
/// Sets the word that the plugin would have written if the image had been compiled for this
/// strategy.
void word_for_strategy(const smalloc_site *site, smalloc_cell *cell, void *data) {
  auto strategy = *static_cast<HeapStrategy *>(data);
  if (!(site->flags & SMALLOC_SITE_REWRITTEN))
    return;
  unsigned flags = site->flags;
  bool undecided = flags & SMALLOC_SITE_UNDECIDED;
  if (site->decision == SMALLOC_DECISION_BASE && !undecided)
    return set_word(cell, 0);
  // heap:migrate serves an undecided site's requests of every size. SMALL makes its thunk pass them
  // all on.
  if (undecided && strategy == HeapStrategy::kMigrate)
    flags |= SMALLOC_SITE_SMALL;
  else if (undecided && (flags & SMALLOC_SITE_SMALL))
    return set_word(cell, 0);
  set_word(cell, SMALLOC_WORD(site->decision, flags, site->page_shift, site->decided_by,
                              pages_from(site->min_bytes)));
}
void force_superpages(const smalloc_site *site, smalloc_cell *cell, void *) {
  if (site->flags & SMALLOC_SITE_REWRITTEN)
    set_word(cell, SMALLOC_WORD(SMALLOC_DECISION_SUPERPAGE, site->flags, 21,
                                SMALLOC_WORD_DECIDED_BY(cell->word), 0));
}
/// Decides an undecided site if a loop of another unit walks its objects in a way that pays.
void take_joined(const smalloc_site *site, smalloc_cell *cell, void *data) {
  if (!(site->flags & SMALLOC_SITE_UNDECIDED) || !(site->flags & SMALLOC_SITE_REWRITTEN) ||
      site->fixed_bytes < SMALLOC_SITE_NODE_BYTES)
    return;
  JoinedAccess found = static_cast<KeyJoin *>(data)->of(site->node);
  if (!found.access || found.access->min_bytes == SMALLOC_UNKNOWN)
    return;
  unsigned flags = site->flags & ~SMALLOC_SITE_UNDECIDED;
  if (flags & SMALLOC_SITE_MANY)
    flags |= SMALLOC_SITE_SMALL;
  unsigned decision =
      found.access->min_bytes == 0 ? SMALLOC_DECISION_SUPERPAGE : SMALLOC_DECISION_RUNTIME;
  set_word(cell, SMALLOC_WORD(decision, flags, site->page_shift, site->decided_by,
                              pages_from(found.access->min_bytes)));
}
/// Joins the summaries of the image's units. Never joins two images: two versions of a library in a
/// process use the same names for different things.
void join_units(const smalloc_module &module) {
  if (module.bytes < sizeof module)
    return; // made by a plugin without summaries
  KeyJoin join(module.keys_start, module.keys_stop);
  ScratchPages scratch(join.scratch_bytes());
  if (!scratch.data())
    return;
  join.run(scratch.data());
  for_each_site_of(module, take_joined, &join);
}
/// Marks a site with a NUMA hint. Its small objects come from the node heaps, which need a test at
/// each request. So they never come directly from the main heap.
void mark_placed(const smalloc_site *site, smalloc_cell *cell, void *) {
  if (__atomic_load_n(&cell->word, __ATOMIC_RELAXED) != 0 &&
      g_placement.of(site).kind != numa::PlacementKind::kNone && g_placement.topology())
    __atomic_fetch_or(&cell->word, SMALLOC_CELL_PLACED, __ATOMIC_RELAXED);
}
/// Marks a site as served from the beginning: libsmalloc is the process' malloc.
void mark_served(const smalloc_site *site, smalloc_cell *cell, void *data) {
  const uint64_t word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
  if (word == 0)
    return;
  const bool joins =
      static_cast<const ServedSites *>(data)->process_strategy == HeapStrategy::kAuto &&
      (site->flags & SMALLOC_SITE_ANY_SIZE) && SMALLOC_WORD_DECIDED_BY(word) == SMALLOC_BY_COMPILER;
  // SMALL makes the site's thunk call for every size, not only from the least size for superpages
  // on.
  __atomic_fetch_or(&cell->word,
                    joins ? SMALLOC_CELL_JOINS | uint64_t{SMALLOC_SITE_SMALL} << 8
                          : uint64_t{SMALLOC_CELL_SERVED} << 8,
                    __ATOMIC_RELAXED);
}
struct Obeying {
  const smalloc_module &module;
  bool serves_process;
};
/// Applies a directive to a site. A profile has precedence over compilers and strategies.
void obey_directive(const smalloc_site *site, smalloc_cell *cell, void *data) {
  const auto &obeying = *static_cast<const Obeying *>(data);
  if (!(site->flags & SMALLOC_SITE_REWRITTEN) || is_barred(site, obeying.module))
    return;
  const Directives::Entry *entry =
      g_directives.find(site->id, context_hash(site_string(site, site->context)));
  if (!entry)
    return;
  if (entry->decision == DirectiveOutcome::kTaken)
    g_agent.claim();
  uint64_t word = 0;
  const unsigned flags = site->flags & ~SMALLOC_SITE_UNDECIDED;
  if (entry->decision == DirectiveOutcome::kTaken && entry->page_shift == kMediumShift)
    // For big objects only: there is no heap of small objects on these pages, so they stay with the
    // program's malloc.
    word = SMALLOC_WORD(SMALLOC_DECISION_RUNTIME, flags & ~SMALLOC_SITE_SMALL, kMediumShift,
                        SMALLOC_BY_DIRECTIVE, kPagesPerUnit);
  else if (entry->decision == DirectiveOutcome::kTaken)
    word =
        SMALLOC_WORD(SMALLOC_DECISION_SUPERPAGE, flags, entry->page_shift, SMALLOC_BY_DIRECTIVE, 0);
  // Big objects only, on base pages until there is room.
  else if (entry->decision == DirectiveOutcome::kDeferred)
    word = SMALLOC_WORD(SMALLOC_DECISION_RUNTIME,
                        flags & ~(SMALLOC_SITE_FULLY_INITIALISED | SMALLOC_SITE_SMALL), 21,
                        SMALLOC_BY_DIRECTIVE, kPagesPerUnit);
  // With a word of 0 the site's calls would go to malloc: libsmalloc's malloc would choose the
  // pages, or the site's NUMA node would be lost.
  else if (obeying.serves_process || g_placement.of(site).kind != numa::PlacementKind::kNone)
    word = SMALLOC_WORD(SMALLOC_DECISION_BASE, flags, 12, SMALLOC_BY_DIRECTIVE, 0);
  constexpr uint64_t kOfTheRuntime = uint64_t{SMALLOC_CELL_SERVED} << 8 | SMALLOC_CELL_DIRECT |
                                     SMALLOC_CELL_PLACED | SMALLOC_CELL_JOINS;
  if ((__atomic_load_n(&cell->word, __ATOMIC_RELAXED) & ~kOfTheRuntime) != word)
    set_word(cell, word);
  mark_placed(site, cell, nullptr);
}
} // namespace

bool modules_name_page(unsigned page_shift) {
  struct Search {
    unsigned page_shift;
    bool found;
  } search = {page_shift, false};
  modules_for_each_site(
      [](const smalloc_site *site, smalloc_cell *cell, void *data) {
        auto &s = *static_cast<Search *>(data);
        const Directives::Entry *entry =
            g_directives.any()
                ? g_directives.find(site->id, context_hash(site_string(site, site->context)))
                : nullptr;
        // A deferred directive may be taken later.
        s.found |= SMALLOC_WORD_PAGE_SHIFT(__atomic_load_n(&cell->word, __ATOMIC_RELAXED)) ==
                       s.page_shift ||
                   (entry && entry->page_shift == s.page_shift);
      },
      &search);
  return search.found;
}

void modules_obey_directives(const ServedSites &served) {
  modules_for_each(
      [](const smalloc_module &module, void *data) {
        Obeying obeying = {module, static_cast<const ServedSites *>(data)->serves_process};
        for_each_site_of(module, obey_directive, &obeying);
      },
      const_cast<ServedSites *>(&served));
}

void set_site_words(smalloc_module &module, const ServedSites &served) {
  if (module.barred != kAllSites) {
    HeapStrategy strategy = served.strategy;
    if (strategy == HeapStrategy::kSuperpage)
      for_each_site_of(module, force_superpages, nullptr);
    else if (strategy != static_cast<HeapStrategy>(module.heap))
      for_each_site_of(module, word_for_strategy, &strategy);
    if (strategy != HeapStrategy::kSuperpage)
      join_units(module);
    if (g_directives.any()) {
      Obeying obeying = {module, served.serves_process};
      for_each_site_of(module, obey_directive, &obeying);
    }
    for_each_site_of(module, mark_placed, nullptr);
    if (served.serves_process)
      for_each_site_of(module, mark_served, const_cast<ServedSites *>(&served));
  }
  if (module.barred != kNoSites)
    for_each_site_of(module, switch_barred_off, &module);
}

} // namespace smalloc
