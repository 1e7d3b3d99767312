// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// system_topology.cpp converts hwloc's topology of this system. CMake takes
// system_topology_missing.cpp instead if hwloc is not installed.
#include "runtime/numa/topology_source.h"
#include "smalloc/files/system_file.h"
#include "smalloc/numa/system_nodes.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <hwloc.h>

namespace smalloc::numa {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t t) const { hwloc_topology_destroy(t); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, DestroyTopology>;

double attribute(hwloc_topology_t t, hwloc_memattr_id_t id, hwloc_obj_t target, hwloc_obj_t from) {
  if (!from->cpuset || hwloc_bitmap_iszero(from->cpuset))
    return 0;
  hwloc_location initiator;
  initiator.type = HWLOC_LOCATION_TYPE_CPUSET;
  initiator.location.cpuset = from->cpuset;
  hwloc_uint64_t value = 0;
  return hwloc_memattr_get_value(t, id, target, &initiator, 0, &value) == 0
             ? static_cast<double>(value)
             : 0;
}

void read_distances(hwloc_topology_t t, const std::vector<hwloc_obj_t> &nodes, Topology &out) {
  unsigned count = 1;
  hwloc_distances_s *matrix = nullptr;
  if (hwloc_distances_get_by_type(t, HWLOC_OBJ_NUMANODE, &count, &matrix,
                                  HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0 ||
      count == 0)
    return;
  auto index = [&](hwloc_obj_t o) {
    return std::find(nodes.begin(), nodes.end(), o) - nodes.begin();
  };
  for (unsigned i = 0; i < matrix->nbobjs; i++)
    for (unsigned j = 0; j < matrix->nbobjs; j++) {
      auto from = static_cast<size_t>(index(matrix->objs[i]));
      auto to = static_cast<size_t>(index(matrix->objs[j]));
      if (from < out.nodes && to < out.nodes)
        out.distance[from][to] =
            static_cast<uint8_t>(std::min<uint64_t>(matrix->values[i * matrix->nbobjs + j], 255));
    }
  hwloc_distances_release(t, matrix);
}

} // namespace

Topology system_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0)
    throw TopologyError("hwloc does not start");
  HwlocTopology topology(raw);
  if (hwloc_topology_load(raw) != 0)
    throw TopologyError("hwloc cannot read this system");
  std::vector<hwloc_obj_t> nodes;
  for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_NUMANODE, o));)
    nodes.push_back(o);
  if (nodes.empty() || nodes.size() > kMaxNodes)
    throw TopologyError(
        fmt::format("{} NUMA nodes: from 1 to {} are supported", nodes.size(), kMaxNodes));
  Topology t;
  t.nodes = static_cast<unsigned>(nodes.size());
  std::fill_n(t.node_of_cpu, kMaxCpus, kNoNode);
  default_distances(t);
  read_distances(raw, nodes, t);
  for (unsigned n = 0; n < t.nodes; n++) {
    hwloc_obj_t o = nodes[n];
    t.node[n].os_id = o->os_index;
    t.node[n].memory_bytes = o->attr->numanode.local_memory;
    // hwloc knows only how much memory there is.
    t.node[n].free_bytes = hwloc_topology_is_thissystem(raw)
                               ? read_free_bytes(read_system_file, "/sys", o->os_index)
                               : t.node[n].memory_bytes;
    // hwloc gives MiB/s.
    t.node[n].bandwidth_bytes_s = attribute(raw, HWLOC_MEMATTR_ID_BANDWIDTH, o, o) * 1048576;
    for (unsigned from = 0; from < t.nodes; from++)
      t.latency_ns[from][n] =
          static_cast<float>(attribute(raw, HWLOC_MEMATTR_ID_LATENCY, o, nodes[from]));
  }
  // A processor belongs to the nearest node whose set holds it. Memory-only nodes (HBM, CXL) share
  // their neighbour's set and come after it.
  for (unsigned n = 0; n < t.nodes; n++) {
    int cpu;
    hwloc_bitmap_foreach_begin(cpu, nodes[n]->cpuset) if (cpu < static_cast<int>(kMaxCpus) &&
                                                          t.node_of_cpu[cpu] == kNoNode) {
      t.node_of_cpu[cpu] = static_cast<uint8_t>(n);
      t.node[n].cpus++;
    }
    hwloc_bitmap_foreach_end();
  }
  return t;
}

} // namespace smalloc::numa
