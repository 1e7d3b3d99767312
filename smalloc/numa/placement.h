// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// placement.h computes on which nodes an object's pages appear at first touch, whichever thread
// touches them. A serial initialisation loop thus no longer puts all pages on its own node. A hint
// comes from a directives file (numa=...) or from the compiler (-fplugin-arg-smalloc-numa=hints).
// Objects below a superpage, several of which share one, follow the same hints by node_units.h.
#ifndef SMALLOC_NUMA_PLACEMENT_H
#define SMALLOC_NUMA_PLACEMENT_H

#include "smalloc/base/text.h"
#include "smalloc/numa/topology.h"

namespace smalloc::numa {

enum class PlacementKind : uint8_t {
  kNone,
  kLocal,      ///< on the node of the first touch, whatever policy the process has
  kInterleave, ///< superpages, or pages, in turn on every node with memory
  /// interleaved in proportion to the nodes' bandwidth, as the administrator set it (Linux 6.9)
  kWeighted,
  kPreferred, ///< on some nodes, the nearest first, while they have memory
  /// contiguous shares in the order of the nodes, for a static schedule on threads bound in that
  /// order
  kPartition,
};
struct Placement {
  PlacementKind kind = PlacementKind::kNone;
  uint64_t nodes = 0; ///< kPreferred's nodes: the system's numbers, a bit each
};

/// Parses "local", "interleave", "weighted", "preferred:3", "preferred:0,2" or "partition". "-" and
/// the empty text mean no placement. Returns false for any other text.
bool parse_placement(Text text, Placement &placement);

/// Part of an object and the kernel's policy for it.
struct PlacedRange {
  size_t from, bytes; ///< offset from the object's first superpage; whole superpages except the
                      ///< last range
  int policy;         ///< MPOL_...
  uint64_t nodes;     ///< the system's numbers, a bit each; nodes from 64 on have no bit
};
inline constexpr unsigned kMostRanges = kMaxNodes;
/// Writes the ranges of an object of `bytes` bytes to `out`, at most kMostRanges. allowed_cpus[i]:
/// processors of node i that the process may use; partitions are in proportion to them. Returns the
/// number of ranges; 0: no policy to set.
unsigned placed_ranges(const Topology &topology, const unsigned *allowed_cpus, Placement placement,
                       size_t bytes, PlacedRange *out);

} // namespace smalloc::numa
#endif
