// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// object_placement.h sets the NUMA nodes of big objects before their first touch. It places the
// objects of sites that a directive names (numa=...), and of those that the compiler found to be
// divided among threads (SMALLOC_SITE_PARTITIONED). The setting numa:off disables it.
#ifndef SMALLOC_SITES_OBJECT_PLACEMENT_H
#define SMALLOC_SITES_OBJECT_PLACEMENT_H

#include "smalloc/agent/directive_line.h"
#include "smalloc/include/smalloc/site.h"
#include "smalloc/numa/placement.h"

namespace smalloc {

class ObjectPlacement {
public:
  /// Stores a directive if it names nodes. `most`: the largest number of directives.
  void take(const Directive &d, size_t most);
  /// Sets the folder that describes the machine (Options::sysfs). The string must stay valid.
  static void set_sysfs(const char *folder);
  /// Lock and unlock the topology around fork().
  static void lock_nodes();
  static void unlock_nodes();
  /// Sorts the directives. Call it before the first lookup. O(n log n), usually with n = 0.
  void all_taken();
  void switch_off() { off_ = true; }

  numa::Placement of(const smalloc_site *site) const;
  numa::Placement of(const smalloc_cell *cell) const;
  /// Sets the memory policies of [start, start + bytes). REQUIRES: the range is untouched; `start`
  /// is superpage-aligned. Returns how many ranges got a policy of their own; 0 on a machine with
  /// one node.
  unsigned place(char *start, size_t bytes, numa::Placement placement);
  /// Returns the topology of a machine with several nodes, unless hints are switched off; nullptr
  /// otherwise.
  const numa::Topology *topology() const;

private:
  struct Entry {
    uint64_t site, context;
    bool has_context;
    numa::Placement placement;
  };
  Entry *entries_ = nullptr;
  size_t count_ = 0, most_ = 0;
  bool off_ = false, no_memory_ = false;
};

extern ObjectPlacement g_placement;

} // namespace smalloc
#endif
