// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_sites.cpp writes a site's name into the trace at its first event. The table's key is the
// address of the cell, or the return address of the call.
#include "runtime/collector/recorded_sites.h"

#include "runtime/collector/image_names.h"
#include "smalloc/agent/directive_line.h"

#include <stdio.h>
#include <string.h>

namespace smalloc::trace {

/// Returns what `key` stands for; id 0 if the key has no site yet.
RecordedSite RecordedSites::find(uint64_t key) const {
  for (size_t i = start(key), n = 0; n < kProbes; i = (i + 1) % kSlots, n++) {
    const uint64_t seen = slots_[i].key.load(std::memory_order_acquire);
    if (seen == key)
      return {slots_[i].id.load(std::memory_order_acquire),
              slots_[i].context.load(std::memory_order_relaxed)};
    if (seen == 0)
      break;
  }
  return {};
}

void RecordedSites::insert(uint64_t key, RecordedSite site) {
  for (size_t i = start(key), n = 0; n < kProbes; i = (i + 1) % kSlots, n++) {
    uint64_t seen = 0;
    if (slots_[i].key.compare_exchange_strong(seen, key) || seen == key) {
      slots_[i].context.store(site.context, std::memory_order_relaxed);
      slots_[i].id.store(site.id, std::memory_order_release);
      return;
    }
  }
}

void RecordedSites::clear() {
  for (Slot &slot : slots_) {
    slot.key.store(0, std::memory_order_relaxed);
    slot.id.store(0, std::memory_order_relaxed);
  }
}

RecordedSite RecordedSites::of_cell(const smalloc_cell *cell, ThreadChunk &chunk) {
  const auto key = reinterpret_cast<uintptr_t>(cell);
  RecordedSite named = find(key);
  const auto *site = reinterpret_cast<const smalloc_site *>(reinterpret_cast<const char *>(cell) +
                                                            cell->site_offset);
  if (named.id && named.id == site->id) // else another library lies where an unloaded one lay
    return named;
  const auto text = [&](uint32_t offset) {
    return offset >= site->fixed_bytes && offset < site->record_bytes
               ? reinterpret_cast<const char *>(site) + offset
               : "";
  };
  static const char *const patterns[] = {"",        "",          "streaming",
                                         "strided", "scattered", "pointer-chasing"};
  // One loop that waits for what it reads is enough: a program that builds a list at random places
  // follows it afterwards.
  const unsigned pattern =
      site->flags & SMALLOC_SITE_CHASED ? +SMALLOC_PATTERN_POINTER_CHASING : site->pattern;
  char line[1024];
  const int n = snprintf(line, sizeof line, "%s\n%s:%u\n%s", text(site->function), text(site->file),
                         site->line, pattern < 6 ? patterns[pattern] : "");
  const size_t bytes = n < 0 ? 0 : static_cast<size_t>(n);
  chunk.site(site->id, kCompilerSite, 0, line, bytes < sizeof line ? bytes : sizeof line - 1);
  named = {site->id, 0};
  if (const char *chain = text(site->context); *chain) {
    named.context = context_hash(Text(chain));
    chunk.site(named.context, kInlineChain, 0, chain, strlen(chain));
  }
  insert(key, named);
  return named;
}

RecordedSite RecordedSites::of_caller(const void *caller, ThreadChunk &chunk) {
  const auto key = reinterpret_cast<uintptr_t>(caller);
  if (const RecordedSite named = find(key); named.id)
    return named;
  const ImageName image = image_of(caller);
  const uint64_t id = site_id(image);
  chunk.site(id, kReturnAddress, image.offset, image.path, strlen(image.path));
  insert(key, {id, 0});
  return {id, 0};
}

} // namespace smalloc::trace
