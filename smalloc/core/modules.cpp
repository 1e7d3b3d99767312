// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// modules.cpp decides what happens when an image is registered, possibly before our own constructor
// ran: its record is linked into the list and its cells are set; nothing is allocated and no heap
// starts.
#include "smalloc/core/modules.h"
#include "smalloc/agent/agent.h"
#include "smalloc/base/spin_lock.h"
#include "smalloc/core/key_join.h"
#include "smalloc/core/object_placement.h"
#include "smalloc/core/runtime.h"
#include "smalloc/core/site_accounts.h"
#include "smalloc/os/loaded_objects.h"
#include "smalloc/os/scratch_pages.h"

#include <atomic>
#include <string.h>

namespace smalloc {

namespace {
SpinLock g_lock;
smalloc_module *g_modules;
std::atomic<bool> g_seen{false};
} // namespace

void for_each_site_of(const smalloc_module &m,
                      void (*visit)(const smalloc_site *, smalloc_cell *, void *), void *data) {
  auto *at = static_cast<const char *>(m.sites_start);
  auto *stop = static_cast<const char *>(m.sites_stop);
  while (at && at + SMALLOC_SITE_LEAST_BYTES <= stop) {
    auto *site = reinterpret_cast<const smalloc_site *>(at);
    if (site->magic != SMALLOC_SITE_MAGIC) {
      at += 8; // padding between the units' parts of the section
      continue;
    }
    if (site->version == SMALLOC_ABI_VERSION && site->cell_offset != 0)
      visit(site, reinterpret_cast<smalloc_cell *>(const_cast<char *>(at) + site->cell_offset),
            data);
    at += site->record_bytes >= SMALLOC_SITE_LEAST_BYTES ? (site->record_bytes + 7u) & ~7u
                                                         : SMALLOC_SITE_LEAST_BYTES;
  }
}

namespace {

/// The recorder (libsmalloc_feedback) notes a call and makes it: what counts is who comes next.
void *behind_recorder(void *definition, const char *name) {
  return definition && image_defines(definition, "__smalloc_v1_open_gate")
             ? next_definition(name, definition)
             : definition;
}

/// Does an address that an image calls by this name reach our definition? In an executable that is
/// not position- independent and takes the function's address, that address is the executable's PLT
/// slot in every image: then the first real definition in load order is what the slot jumps to.
bool reaches_ours(void *address, void *own, const char *name) {
  if (address == own)
    return true;
  if (!address || !in_executable(address))
    return behind_recorder(address, name) == own;
  void *visible = strcmp(name, "free") == 0      ? g_own.visible_free
                  : strcmp(name, "realloc") == 0 ? g_own.visible_realloc
                                                 : g_own.visible_delete;
  if (address != visible)
    return false; // a definition of its own, hidden from everybody else
  return behind_recorder(first_definition(name), name) == own;
}

void set_word(smalloc_cell *cell, uint64_t word) {
  __atomic_store_n(&cell->word, word, __ATOMIC_RELAXED);
}
/// smalloc_module::barred.
enum Barred : uint32_t { kNoSites, kCxxSites, kAllSites };
/// A call of a function that returns fresh memory may end in operator new.
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
/// The word that the plugin would have written for another strategy than the image was compiled
/// for.
void word_for_strategy(const smalloc_site *site, smalloc_cell *cell, void *data) {
  auto strategy = *static_cast<HeapStrategy *>(data);
  if (!(site->flags & SMALLOC_SITE_REWRITTEN))
    return;
  unsigned flags = site->flags;
  bool undecided = flags & SMALLOC_SITE_UNDECIDED;
  if (site->decision == SMALLOC_DECISION_BASE && !undecided)
    return set_word(cell, 0);
  if (undecided && strategy == HeapStrategy::kMigrate)
    flags |= SMALLOC_SITE_SMALL; // objects of every size count for the class heap
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
/// An undecided site that some other unit's loop walks in a way that pays is decided.
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
/// What the image's units know of each other's memory. Only within one image: two versions of a
/// library in a process have the same names for different things.
void join_units(const smalloc_module &module) {
  if (module.bytes < sizeof module)
    return; // made by a plugin that knew no summaries
  KeyJoin join(module.keys_start, module.keys_stop);
  ScratchPages scratch(join.scratch_bytes());
  if (!scratch.data())
    return;
  join.run(scratch.data());
  for_each_site_of(module, take_joined, &join);
}
/// Its small objects come from the heaps of nodes, which is asked about at each: never directly from the main heap.
void mark_placed(const smalloc_site *site, smalloc_cell *cell, void *) {
  if (__atomic_load_n(&cell->word, __ATOMIC_RELAXED) != 0 &&
      g_placement.of(site).kind != numa::PlacementKind::kNone && g_placement.topology())
    __atomic_fetch_or(&cell->word, SMALLOC_CELL_PLACED, __ATOMIC_RELAXED);
}
/// libsmalloc is the process' malloc: where the site's small objects lie is known from the beginning.
void mark_served(const smalloc_site *site, smalloc_cell *cell, void *) {
  const uint64_t word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
  if (word == 0)
    return;
  const bool joins = g_runtime.strategy() == HeapStrategy::kAuto &&
                     (site->flags & SMALLOC_SITE_ANY_SIZE) &&
                     SMALLOC_WORD_DECIDED_BY(word) == SMALLOC_BY_COMPILER;
  // SMALL: the site's thunk asks for every size, not only from the least size for superpages on.
  __atomic_fetch_or(&cell->word,
                    joins ? SMALLOC_CELL_JOINS | uint64_t{SMALLOC_SITE_SMALL} << 8
                          : uint64_t{SMALLOC_CELL_SERVED} << 8,
                    __ATOMIC_RELAXED);
}
/// What a profile said of the site goes before what compilers and strategies say.
void obey_directive(const smalloc_site *site, smalloc_cell *cell, void *module) {
  if (!(site->flags & SMALLOC_SITE_REWRITTEN) ||
      is_barred(site, *static_cast<const smalloc_module *>(module)))
    return;
  const Directives::Entry *entry =
      g_directives.find(site->id, context_hash(site_string(site, site->context)));
  if (!entry)
    return;
  if (entry->decision == SiteDecision::kTaken)
    g_agent.claim();
  uint64_t word = 0;
  const unsigned flags = site->flags & ~SMALLOC_SITE_UNDECIDED;
  if (entry->decision == SiteDecision::kTaken && entry->page_shift == kMediumShift)
    // Big objects: small ones stay with the program's malloc, there is no heap of such pages.
    word = SMALLOC_WORD(SMALLOC_DECISION_RUNTIME, flags & ~SMALLOC_SITE_SMALL, kMediumShift,
                        SMALLOC_BY_DIRECTIVE, kPagesPerUnit);
  else if (entry->decision == SiteDecision::kTaken)
    word =
        SMALLOC_WORD(SMALLOC_DECISION_SUPERPAGE, flags, entry->page_shift, SMALLOC_BY_DIRECTIVE, 0);
  else if (entry->decision ==
           SiteDecision::kDeferred) // big objects only, on base pages until there is room
    word = SMALLOC_WORD(SMALLOC_DECISION_RUNTIME,
                        flags & ~(SMALLOC_SITE_FULLY_INITIALISED | SMALLOC_SITE_SMALL), 21,
                        SMALLOC_BY_DIRECTIVE, kPagesPerUnit);
  else if (g_runtime.serves_process() || // or malloc would choose its pages
           g_placement.of(site).kind != numa::PlacementKind::kNone) // or its node is lost
    word = SMALLOC_WORD(SMALLOC_DECISION_BASE, flags, 12, SMALLOC_BY_DIRECTIVE, 0);
  constexpr uint64_t kOfTheRuntime = uint64_t{SMALLOC_CELL_SERVED} << 8 | SMALLOC_CELL_DIRECT |
                                     SMALLOC_CELL_LEFT | SMALLOC_CELL_SHARED | SMALLOC_CELL_PLACED |
                                     SMALLOC_CELL_JOINS;
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

bool modules_seen() { return g_seen.load(std::memory_order_relaxed); }

void modules_obey_directives() {
  SpinGuard guard(g_lock);
  for (smalloc_module *m = g_modules; m; m = m->next)
    for_each_site_of(*m, obey_directive, m);
}

const char *site_string(const smalloc_site *site, uint32_t offset) {
  if (offset < site->fixed_bytes || offset >= site->record_bytes)
    return "";
  return reinterpret_cast<const char *>(site) + offset;
}

void module_register(smalloc_module *module) {
  if (!module || module->version != SMALLOC_ABI_VERSION)
    return;
  if (module->sites_start != module->sites_stop)
    g_seen.store(true, std::memory_order_relaxed);
  const Options &options = g_runtime.options();
  HeapStrategy strategy =
      options.heap_given ? options.heap : static_cast<HeapStrategy>(module->heap);
  bool ours = reaches_ours(module->free_function, g_own.free, "free") &&
              reaches_ours(module->realloc_function, g_own.realloc, "realloc");
  if (!ours && in_executable(module))
    g_runtime.switch_off("the program's free() is not smalloc's (it defines its own, or another "
                         "allocator comes first); superpage heaps are off");
  // Also for directives that come later.
  if (!ours || strategy == HeapStrategy::kOff || g_runtime.is_off())
    module->barred = kAllSites;
  else if (module->delete_function &&
           (!reaches_ours(module->delete_function, g_own.operator_delete, "_ZdlPv") ||
            operators_replaced()))
    module->barred = kCxxSites;
  else
    module->barred = kNoSites;
  if (module->barred != kAllSites) {
    if (!options.heap_given && strategy != HeapStrategy::kAuto)
      g_runtime.set_strategy(strategy);
    if (strategy == HeapStrategy::kSuperpage)
      for_each_site_of(*module, force_superpages, nullptr);
    else if (strategy != static_cast<HeapStrategy>(module->heap))
      for_each_site_of(*module, word_for_strategy, &strategy);
    if (strategy != HeapStrategy::kSuperpage)
      join_units(*module);
    if (g_directives.any())
      for_each_site_of(*module, obey_directive, module);
    for_each_site_of(*module, mark_placed, nullptr);
    if (g_runtime.serves_process())
      for_each_site_of(*module, mark_served, nullptr);
  }
  if (module->barred != kNoSites)
    for_each_site_of(*module, switch_barred_off, module);
  SpinGuard guard(g_lock);
  module->next = g_modules;
  g_modules = module;
}

void module_unregister(smalloc_module *module) {
  {
    SpinGuard guard(g_lock);
    for (smalloc_module **at = &g_modules; *at; at = &(*at)->next)
      if (*at == module) {
        *at = module->next;
        break;
      }
  }
  // Now that nobody finds its sites any more. At exit, images go before the table is printed.
  g_accounts.forget(*module);
}

const char *modules_who_owns_free() {
  if (reaches_ours(g_own.visible_free, g_own.free, "free") &&
      reaches_ours(g_own.visible_realloc, g_own.realloc, "realloc"))
    return nullptr;
  // Two copies of libsmalloc.so, one linked and one preloaded: the first one serves.
  auto *entry = reinterpret_cast<void *>(&__smalloc_v1_malloc);
  void *first = first_definition("__smalloc_v1_malloc");
  if (first && first != entry)
    return "";
  return "another allocator's free() comes before smalloc's; superpage heaps are off (load "
         "libsmalloc first)";
}

Behind who_is_behind(void *definition) {
  if (!definition)
    return Behind::kUnknown;
  const char *name = image_name(definition);
  if (const char *slash = strrchr(name, '/'))
    name = slash + 1;
  if (strncmp(name, "libstdc++", 9) == 0 || strncmp(name, "libc++", 6) == 0)
    return Behind::kRuntime;
  return image_defines(definition, "malloc") ? Behind::kAllocator : Behind::kReplaced;
}

bool operators_replaced() {
  static std::atomic<uint8_t> state{0}; // 1: no, 2: yes
  uint8_t seen = state.load(std::memory_order_relaxed);
  if (SMALLOC_LIKELY(seen != 0))
    return seen == 2;
  auto behind = [](const char *name) {
    // The executable's own come before ours, and may be for some of the forms only: the C++ runtime's other forms end in
    // those. Ours pass everything on, also a linked copy's behind a preloaded one's.
    void *definition = behind_recorder(first_definition(name), name);
    while (definition && image_defines(definition, "__smalloc_v1_malloc"))
      definition = behind_recorder(next_definition(name, definition), name);
    return who_is_behind(definition);
  };
  // Those that the C++ runtime's other forms end in.
  const char *const names[] = {"_Znwm",
                               "_Znam",
                               "_ZdaPv",
                               "_ZnwmSt11align_val_t",
                               "_ZnamSt11align_val_t",
                               "_ZdlPvSt11align_val_t",
                               "_ZdaPvSt11align_val_t"};
  const Behind of_delete = behind("_ZdlPv");
  bool replaced = of_delete == Behind::kReplaced;
  for (const char *name : names)
    replaced = replaced || behind(name) == Behind::kReplaced;
  if (replaced || of_delete != Behind::kUnknown)
    state.store(replaced ? 2 : 1, std::memory_order_relaxed);
  return replaced;
}

bool deletes_reach_us() {
  static std::atomic<uint8_t> state{0}; // 1: no, 2: yes
  uint8_t seen = state.load(std::memory_order_relaxed);
  if (SMALLOC_UNLIKELY(seen == 0)) {
    void *first = first_definition("_ZdlPv");
    seen = first == g_own.operator_delete && !operators_replaced() ? 2 : 1;
    state.store(seen, std::memory_order_relaxed);
  }
  return seen == 2;
}

void modules_for_each_site(void (*visit)(const smalloc_site *, smalloc_cell *, void *),
                           void *data) {
  SpinGuard guard(g_lock);
  for (smalloc_module *m = g_modules; m; m = m->next)
    for_each_site_of(*m, visit, data);
}

void modules_lock() { g_lock.lock(); }
void modules_unlock() { g_lock.unlock(); }

} // namespace smalloc
