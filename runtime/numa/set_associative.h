// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// set_associative.h keeps the entries of a cache or a TLB of the simulator: sets of a few ways,
// with least-recently-used replacement. Entries carry a version (a line that another processor has
// written since is no hit) and a counter (address translation counters). O(ways) a look-up.
#pragma once

#include <cstdint>
#include <vector>

namespace smalloc::numa {

class SetAssociative {
public:
  struct Entry {
    uint64_t key = 0; ///< key + 1; 0: empty
    uint64_t used = 0;
    uint32_t version = 0;
    uint32_t count = 0; ///< hits since it came in
  };

  SetAssociative(unsigned entries, unsigned ways)
      : ways_(ways), sets_(entries / ways ? entries / ways : 1), entry_(size_t{sets_} * ways) {}

  /// Looks `key` up. True: a hit. Else the entry replaces the least recently used one of its set.
  bool touch(uint64_t key, uint32_t version = 0, uint32_t accesses = 1) {
    Entry *set = &entry_[key % sets_ * ways_], *oldest = set;
    for (Entry *e = set; e < set + ways_; e++) {
      if (e->key == key + 1) {
        bool hit = e->version == version;
        e->used = ++clock_;
        e->version = version;
        e->count = hit ? e->count + accesses : accesses;
        return hit;
      }
      if (e->used < oldest->used)
        oldest = e;
    }
    *oldest = {key + 1, ++clock_, version, accesses};
    return false;
  }
  std::vector<Entry> &entries() { return entry_; }

private:
  unsigned ways_, sets_;
  uint64_t clock_ = 0;
  std::vector<Entry> entry_;
};

} // namespace smalloc::numa
