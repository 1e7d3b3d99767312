// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// machine_model.cpp holds the numbers of the built-in machines, and scales caches and TLBs to
// smaller programs.
#include "runtime/numa/machine_model.h"

#include <algorithm>

namespace smalloc::numa {
namespace {

Topology uniform(unsigned nodes, unsigned cpus, double local_ns, double remote_ns,
                 uint64_t memory_bytes) {
  Topology t;
  t.nodes = nodes;
  std::fill_n(t.node_of_cpu, kMaxCpus, kNoNode);
  for (unsigned i = 0; i < nodes; i++) {
    t.node[i] = {i, cpus, memory_bytes, memory_bytes, 0};
    for (unsigned c = 0; c < cpus; c++)
      t.node_of_cpu[i * cpus + c] = static_cast<uint8_t>(i);
    for (unsigned j = 0; j < nodes; j++) {
      t.latency_ns[i][j] = static_cast<float>(i == j ? local_ns : remote_ns);
      t.distance[i][j] =
          static_cast<uint8_t>(i == j ? kLocalDistance : kLocalDistance * remote_ns / local_ns);
    }
  }
  return t;
}

const std::vector<MachineModel> &models() {
  static const std::vector<MachineModel> all = {
      // Table 5 except for the pages: 4 KiB here, 8 KiB in the paper, so twice the TLB entries for
      // the same reach. The superpage half of the TLB is not in the paper; 16 entries are assumed.
      // Moving a page costs what it does in a current kernel, not in Solaris 9 (85 us): the trace
      // is a thousandth of the run, and so must be its costs.
      {"sun-fire-6800",
       "Tikir and Hollingsworth 2008, Table 5",
       uniform(6, 2, 225, 300, uint64_t{2} << 30),
       {64 << 10, 4, 32, 2},
       {8 << 20, 2, 512, 16},
       {1024, 2},
       {16, 16},
       100,
       2000,
       250000},
      // Round numbers of a server of 2023: 90 ns local, 160 ns remote, 1 MiB of second-level cache
      // (the shared last level is left out), 2048 TLB entries.
      {"server-4",
       "round numbers of a four-node server",
       uniform(4, 2, 90, 160, uint64_t{16} << 30),
       {48 << 10, 12, 64, 1},
       {1 << 20, 8, 64, 5},
       {2048, 8},
       {1024, 8},
       15,
       2000,
       250000},
  };
  return all;
}

unsigned shrunk(unsigned entries, unsigned ways, unsigned n) { return std::max(entries / n, ways); }

} // namespace

void MachineModel::shrink(unsigned n, unsigned tlb_n) {
  for (CacheModel *c : {&l1, &l2})
    c->bytes = std::max<uint64_t>(c->bytes / n, uint64_t{c->ways} * c->line_bytes);
  tlb.entries = shrunk(tlb.entries, tlb.ways, tlb_n);
  superpage_tlb.ways = std::min(superpage_tlb.ways, 4u);
  superpage_tlb.entries = shrunk(superpage_tlb.entries, superpage_tlb.ways, tlb_n);
}

std::vector<std::string> machine_model_names() {
  std::vector<std::string> names;
  for (const MachineModel &m : models())
    names.push_back(m.name);
  return names;
}

bool machine_model(const std::string &name, MachineModel &model) {
  for (const MachineModel &m : models())
    if (m.name == name) {
      model = m;
      return true;
    }
  return false;
}

} // namespace smalloc::numa
