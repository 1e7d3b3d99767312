// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// modules.cpp links the images' records in a list, under a lock, and reads their tables of sites.
#include "smalloc/sites/modules.h"
#include "smalloc/base/spin_lock.h"

#include <atomic>

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

bool modules_seen() { return g_seen.load(std::memory_order_relaxed); }
void modules_note_sites() { g_seen.store(true, std::memory_order_relaxed); }

void modules_add(smalloc_module *module) {
  SpinGuard guard(g_lock);
  module->next = g_modules;
  g_modules = module;
}

void modules_remove(smalloc_module *module) {
  SpinGuard guard(g_lock);
  for (smalloc_module **at = &g_modules; *at; at = &(*at)->next)
    if (*at == module) {
      *at = module->next;
      break;
    }
}

void modules_for_each(void (*visit)(const smalloc_module &, void *), void *data) {
  SpinGuard guard(g_lock);
  for (smalloc_module *m = g_modules; m; m = m->next)
    visit(*m, data);
}

const char *site_string(const smalloc_site *site, uint32_t offset) {
  if (offset < site->fixed_bytes || offset >= site->record_bytes)
    return "";
  return reinterpret_cast<const char *>(site) + offset;
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
