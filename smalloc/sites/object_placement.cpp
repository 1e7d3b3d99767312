// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// object_placement.cpp keeps the directives that name nodes in a sorted table, which is usually
// empty. Reads the machine's topology once, when the first object is placed.
#include "smalloc/sites/object_placement.h"
#include "smalloc/base/heap_sort.h"
#include "smalloc/base/spin_lock.h"
#include "smalloc/base/units.h"
#include "smalloc/files/system_file.h"
#include "smalloc/numa/system_nodes.h"
#include "smalloc/os/node_policy.h"
#include "smalloc/os/own_stack.h"
#include "smalloc/sites/modules.h"

#include <sys/mman.h>

namespace smalloc {

constinit ObjectPlacement g_placement;

namespace {

/// 23 KB that stay untouched if no object is placed.
numa::Topology g_nodes;
SpinLock g_nodes_lock;
const char *g_sysfs;
enum class Known : uint8_t { kNo, kYes, kOneNode };
Known g_known = Known::kNo;

const numa::Topology *nodes() {
  SpinGuard guard(g_nodes_lock);
  if (g_known == Known::kNo)
    on_own_stack([] {
      g_known = numa::read_nodes(read_system_file, g_sysfs, g_nodes) && g_nodes.nodes > 1
                    ? Known::kYes
                    : Known::kOneNode;
    });
  return g_known == Known::kYes ? &g_nodes : nullptr;
}

} // namespace

void ObjectPlacement::set_sysfs(const char *folder) { g_sysfs = folder; }
void ObjectPlacement::lock_nodes() { g_nodes_lock.lock(); }
void ObjectPlacement::unlock_nodes() { g_nodes_lock.unlock(); }

void ObjectPlacement::take(const Directive &d, size_t most) {
  numa::Placement placement;
  if (!numa::parse_placement(d.numa, placement) || placement.kind == numa::PlacementKind::kNone)
    return;
  if (!entries_) {
    if (no_memory_)
      return; // do not repeat the failing system call
    void *table = mmap(nullptr, most * sizeof(Entry), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    no_memory_ = table == MAP_FAILED;
    if (no_memory_)
      return;
    entries_ = static_cast<Entry *>(table);
    most_ = most;
  }
  if (count_ < most_)
    entries_[count_++] = {d.site, d.context, d.has_context, placement};
}

void ObjectPlacement::all_taken() {
  heap_sort(entries_, count_, [](const Entry &a, const Entry &b) {
    if (a.site != b.site)
      return a.site < b.site;
    return a.has_context != b.has_context ? b.has_context : a.context < b.context;
  });
}

numa::Placement ObjectPlacement::of(const smalloc_site *site) const {
  if (off_)
    return {};
  const Entry *found = nullptr;
  size_t at = 0;
  for (size_t end = count_; at < end;) {
    const size_t middle = at + (end - at) / 2;
    entries_[middle].site < site->id ? at = middle + 1 : end = middle;
  }
  // The entry without a context comes first.
  for (; at < count_ && entries_[at].site == site->id; at++)
    if (!entries_[at].has_context ||
        entries_[at].context == context_hash(site_string(site, site->context)))
      found = &entries_[at];
  if (found)
    return found->placement;
  if (site->flags & SMALLOC_SITE_PARTITIONED)
    return {numa::PlacementKind::kPartition, 0};
  return {};
}

numa::Placement ObjectPlacement::of(const smalloc_cell *cell) const {
  if (off_ || !cell || cell->site_offset == 0)
    return {};
  const auto *site = reinterpret_cast<const smalloc_site *>(reinterpret_cast<const char *>(cell) +
                                                            cell->site_offset);
  return site->magic == SMALLOC_SITE_MAGIC ? of(site) : numa::Placement();
}

const numa::Topology *ObjectPlacement::topology() const { return off_ ? nullptr : nodes(); }

unsigned ObjectPlacement::place(char *start, size_t bytes, numa::Placement placement) {
  const numa::Topology *topology = nodes();
  if (!topology)
    return 0;
  unsigned allowed[numa::kMaxNodes];
  count_allowed_cpus(topology->node_of_cpu, numa::kMaxCpus, allowed, topology->nodes);
  numa::PlacedRange ranges[numa::kMostRanges];
  const unsigned n = numa::placed_ranges(*topology, allowed, placement, bytes, ranges);
  unsigned done = 0;
  for (unsigned i = 0; i < n; i++)
    done += set_node_policy(start + ranges[i].from, align_up(ranges[i].bytes, kBasePageBytes),
                            ranges[i].policy, ranges[i].nodes) == 0;
  return done;
}

} // namespace smalloc
