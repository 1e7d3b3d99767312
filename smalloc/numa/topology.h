// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// topology.h describes a machine to the NUMA parts: nodes with and without processors or memory,
// the node of each processor, and the distance and speed of each memory. It is a plain struct
// without pointers. The allocator, the simulator and tests each fill it from their own source: the
// system (hwloc, sysfs) or a described machine. Nodes are dense indices 0..nodes-1; os_id is the
// system's number, which may have gaps.
#ifndef SMALLOC_NUMA_TOPOLOGY_H
#define SMALLOC_NUMA_TOPOLOGY_H

#include <stdint.h>

namespace smalloc::numa {

inline constexpr unsigned kMaxNodes = 63; ///< six bits in a page's record, one value for "none"
inline constexpr unsigned kMaxCpus = 1024;
inline constexpr uint8_t kNoNode = 63;
inline constexpr uint8_t kLocalDistance = 10; ///< ACPI SLIT: a node to itself

struct Node {
  uint32_t os_id = 0;
  uint32_t cpus = 0;            ///< 0: a memory-only node (HBM, CXL)
  uint64_t memory_bytes = 0;    ///< 0: processors without memory
  uint64_t free_bytes = 0;      ///< when the topology was read
  double bandwidth_bytes_s = 0; ///< local read bandwidth (HMAT); 0: unknown
};

struct Topology {
  unsigned nodes = 0;
  Node node[kMaxNodes];
  uint8_t distance[kMaxNodes][kMaxNodes] = {}; ///< [processors of][memory of], 10 = local
  /// [processors of][memory of]; 0: unknown, and latency() uses the distance instead.
  float latency_ns[kMaxNodes][kMaxNodes] = {};
  uint8_t node_of_cpu[kMaxCpus] = {}; ///< kNoNode: no such processor
  /// Assumed cost of a local access if no latency is known.
  static constexpr double kAssumedLocalNs = 90;

  /// Returns the ns of a memory access by processors of node `from` to memory of node `to`.
  double latency(unsigned from, unsigned to) const {
    if (latency_ns[from][to] > 0)
      return latency_ns[from][to];
    double local = latency_ns[from][from] > 0 ? latency_ns[from][from] : kAssumedLocalNs;
    return local * distance[from][to] / kLocalDistance;
  }
  bool has_memory(unsigned n) const { return node[n].memory_bytes != 0; }
  /// Returns the node itself if it has memory, else the nearest node that has some; kNoNode: no
  /// node has.
  uint8_t nearest_memory(unsigned n) const {
    uint8_t best = kNoNode;
    for (unsigned m = 0; m < nodes; m++)
      if (has_memory(m) && (best == kNoNode || latency(n, m) < latency(n, best)))
        best = static_cast<uint8_t>(m);
    return best;
  }
};

} // namespace smalloc::numa
#endif
