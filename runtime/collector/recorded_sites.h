// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_sites.h names the sites of a trace. A rewritten call has a cell, and its site has the
// plugin's id. Any other call is named by its return address in its image. Both are the same in
// every run.
#ifndef RUNTIME_COLLECTOR_RECORDED_SITES_H
#define RUNTIME_COLLECTOR_RECORDED_SITES_H

#include "runtime/trace/writer.h"
#include "smalloc/include/smalloc/site.h"

#include <atomic>
#include <stddef.h>
#include <stdint.h>

namespace smalloc::trace {

struct RecordedSite {
  uint64_t id, context;
};

/// Set of the sites that this trace has named: open addressing, insert only. When it is full, later
/// sites are named again at each of their events. Any thread may call it; no locks; O(1).
class RecordedSites {
public:
  /// Returns the site of `cell`. Writes its name to `chunk`, the calling thread's, before its first
  /// event.
  RecordedSite of_cell(const smalloc_cell *cell, ThreadChunk &chunk);
  RecordedSite of_caller(const void *caller, ThreadChunk &chunk);
  /// Forgets all sites, for another trace. No other thread may use the set meanwhile.
  void clear();

private:
  static constexpr size_t kSlots = 1u << 15, kProbes = 64;
  static size_t start(uint64_t key) { return (key * 0x9e3779b97f4a7c15u) >> 49; }
  RecordedSite find(uint64_t key) const;
  void insert(uint64_t key, RecordedSite site);
  struct Slot {
    std::atomic<uint64_t> key{0}, id{0}, context{0};
  };
  Slot slots_[kSlots];
};

} // namespace smalloc::trace
#endif
