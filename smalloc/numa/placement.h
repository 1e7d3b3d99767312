// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// placement.h decides on which nodes an object's pages appear when the program touches them first, whoever does: so a serial
// initialisation loop no longer decides it. A hint comes from a directives file (numa=...) or from the compiler
// (fplugin-arg-smalloc-numa=hints). Of objects below a superpage, several of which share one, node_units.h decides by the same hints.
#ifndef SMALLOC_NUMA_PLACEMENT_H
#define SMALLOC_NUMA_PLACEMENT_H

#include "smalloc/base/text.h"
#include "smalloc/numa/topology.h"

namespace smalloc::numa {

enum class PlacementKind : uint8_t {
  kNone,
  kLocal,      ///< where it is touched first, whatever policy the process has
  kInterleave, ///< superpages, or pages, in turn on every node with memory
  kWeighted, ///< the same in proportion to the nodes' bandwidth, as the administrator told the kernel (Linux 6.9)
  kPreferred, ///< on some nodes, the nearest first, while they have memory
  kPartition, ///< contiguous shares in the order of the nodes: a static schedule's, on threads bound in that order
};
struct Placement {
  PlacementKind kind = PlacementKind::kNone;
  uint64_t nodes = 0; ///< of kPreferred: the system's numbers, a bit each
};

/// "local", "interleave", "weighted", "preferred:3", "preferred:0,2", "partition"; "-" and the empty text are no placement.
/// False: none of these.
bool parse_placement(Text text, Placement &placement);

/// A part of an object and the kernel's policy for it.
struct PlacedRange {
  size_t from, bytes; ///< of the object's first superpage on; whole superpages but for the last
  int policy;         ///< MPOL_...
  uint64_t nodes;     ///< the system's numbers, a bit each; those from 64 on cannot be named
};
inline constexpr unsigned kMostRanges = kMaxNodes;
/// The ranges of an object of so many bytes, at most kMostRanges. allowed_cpus[i]: processors of node i that the process may
/// use: partitions are in proportion to them. Returns how many; 0: there is nothing to say.
unsigned placed_ranges(const Topology &topology, const unsigned *allowed_cpus, Placement placement,
                       size_t bytes, PlacedRange *out);

} // namespace smalloc::numa
#endif
