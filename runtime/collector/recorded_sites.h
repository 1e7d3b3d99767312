// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_sites.h decides how sites are named in a trace: by the plugin's id where a rewritten call comes through its
// cell, else by the return address in its image, which is the same in every run.
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

/// Which sites have been named in this trace: open addressing, insert only. Full: later ones are named at each of their events. Any thread
/// may ask; no locks. O(1).
class RecordedSites {
public:
  /// The site; what it is called goes to `chunk`, the calling thread's, before its first event.
  RecordedSite of_cell(const smalloc_cell *cell, ThreadChunk &chunk);
  RecordedSite of_caller(const void *caller, ThreadChunk &chunk);
  /// Another trace begins. No other thread may be at work.
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
