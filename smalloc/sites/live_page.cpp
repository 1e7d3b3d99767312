// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// live_page.cpp fills in the statistics page and publishes it as a memory file.
#include "smalloc/sites/live_page.h"
#include "smalloc/base/clock.h"

#include <string.h>
#include <unistd.h>

namespace smalloc {

constinit LivePage g_live;

namespace {
struct HeapName {
  Slice slice;
  const char *name;
};
constexpr HeapName kHeapNames[] = {
    {Slice::kSmallBase, "small objects"},
    {Slice::kSmallSuper, "small objects, superpages at first touch"},
    {Slice::kClass, "class heap"},
    {Slice::kNode, "small objects placed by node"},
    {Slice::kBigBase, "big objects"},
    {Slice::kBigSuper, "big objects, superpages at first touch"},
    {Slice::kMeta, "metadata"},
    {Slice::kTables, "tables"},
};
constexpr uint32_t kHeaps = sizeof kHeapNames / sizeof kHeapNames[0];
static_assert(kHeaps == kSlices && kHeaps <= SMALLOC_LIVE_HEAPS, "a slice lacks its name");
} // namespace

uint32_t LivePage::add_string(const char *text) {
  smalloc_live_header &h = contents_.header;
  size_t bytes = strlen(text) + 1;
  if (bytes == 1 || bytes > sizeof contents_.strings - h.strings_used)
    return 0;
  uint32_t at = h.strings_used;
  memcpy(contents_.strings + at, text, bytes);
  __atomic_store_n(&h.strings_used, at + static_cast<uint32_t>(bytes), __ATOMIC_RELEASE);
  return at;
}

void LivePage::start(const Region &region, const LiveDescription &description, bool to_others) {
  smalloc_live_header &h = contents_.header;
  h.version = SMALLOC_LIVE_VERSION;
  h.bytes = sizeof h;
  h.pid = static_cast<uint32_t>(description.process);
  h.started_ns = wall_clock_ns();
  if (h.strings_used == 0)
    h.strings_used = 1; // offset 0 is ""
  h.strings = offsetof(LiveContents, strings);
  h.strings_capacity = sizeof contents_.strings;
  h.strategy = description.strategy;
  h.machine = add_string(description.machine);
  h.thp = add_string(description.thp);
  h.version_text = add_string(description.version);
  h.heaps = offsetof(LiveContents, heaps);
  for (uint32_t i = 0; i < kHeaps; i++)
    contents_.heaps[i] = {region.slice_start(kHeapNames[i].slice),
                          region.slice_end(kHeapNames[i].slice), add_string(kHeapNames[i].name), 0};
  h.heap_count = kHeaps;
  h.counter_names = offsetof(LiveContents, counter_names);
  h.counters = offsetof(LiveContents, counters);
  for (const CounterName &c : kCounterNames)
    contents_.counter_names[c.offset / sizeof(Counter)] = add_string(c.name);
  h.counter_count = kCounters;
  h.sites = offsetof(LiveContents, sites);
  __atomic_store_n(&h.magic, SMALLOC_LIVE_MAGIC, __ATOMIC_RELEASE); // last: readers test it first
  if (to_others)
    publish();
}

/// Returns the pieces that were ever written, so that the pages behind them stay untouched.
void LivePage::used_pieces(MemoryPiece pieces[2]) const {
  const smalloc_live_header &h = contents_.header;
  pieces[0] = {0, offsetof(LiveContents, sites) + h.site_count * sizeof(smalloc_live_site)};
  pieces[1] = {offsetof(LiveContents, strings), h.strings_used};
}

void LivePage::publish() {
  MemoryPiece pieces[2];
  used_pieces(pieces);
  fd_ = replace_by_memory_file(SMALLOC_LIVE_NAME, &contents_, sizeof contents_, pieces, 2);
  published_ = fd_ >= 0;
  if (published_ && !spare_)
    spare_ = spare_private_memory(sizeof contents_);
}

void LivePage::after_fork_in_child() {
  if (!published())
    return;
  close_memory_file(fd_, SMALLOC_LIVE_NAME);
  publish();
  if (!published()) { // the child must not count in the parent's page
    MemoryPiece pieces[2];
    used_pieces(pieces);
    if (!replace_by_private_memory(&contents_, sizeof contents_, pieces, 2, spare_))
      return;
    spare_ = nullptr;
  }
  contents_.header.pid = static_cast<uint32_t>(getpid());
}

} // namespace smalloc
