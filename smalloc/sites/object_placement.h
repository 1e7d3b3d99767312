// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// object_placement.h decides which sites' objects get their nodes at first touch: those that a directive says it of (numa=...), and
// those that the compiler found to be divided among threads (SMALLOC_SITE_PARTITIONED). numa:off switches it off.
#ifndef SMALLOC_SITES_OBJECT_PLACEMENT_H
#define SMALLOC_SITES_OBJECT_PLACEMENT_H

#include "smalloc/agent/directive_line.h"
#include "smalloc/include/smalloc/site.h"
#include "smalloc/numa/placement.h"

namespace smalloc {

class ObjectPlacement {
public:
  /// Keeps a directive that names nodes. most: as many come at most.
  void take(const Directive &d, size_t most);
  /// Sets the folder that describes the machine (Options::sysfs). It stays.
  static void set_sysfs(const char *folder);
  /// Across fork.
  static void lock_nodes();
  static void unlock_nodes();
  /// Before the first look. O(n log n), usually of none.
  void all_taken();
  void switch_off() { off_ = true; }

  numa::Placement of(const smalloc_site *site) const;
  numa::Placement of(const smalloc_cell *cell) const;
  /// Before anybody touches it. start is of a superpage. Returns how many ranges got a policy of their own; 0 on one node.
  unsigned place(char *start, size_t bytes, numa::Placement placement);
  /// What is known of this machine's nodes, if it has several and hints are not switched off; nullptr otherwise.
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
