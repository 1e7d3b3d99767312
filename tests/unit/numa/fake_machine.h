// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fake_machine.h is a described machine and an address space of a few units for the policy's tests.
#ifndef TESTS_UNIT_NUMA_FAKE_MACHINE_H
#define TESTS_UNIT_NUMA_FAKE_MACHINE_H

#include "smalloc/numa/migration_policy.h"

#include <memory>
#include <vector>

namespace smalloc::numa {

/// Returns nodes of 1 GiB with 100 ns local and 200 ns remote latency.
inline Topology fake_topology(unsigned nodes) {
  Topology t;
  t.nodes = nodes;
  for (unsigned i = 0; i < nodes; i++) {
    t.node[i] = {i, 1, uint64_t{1} << 30, uint64_t{1} << 30, 0};
    for (unsigned j = 0; j < nodes; j++) {
      t.distance[i][j] = i == j ? 10 : 20;
      t.latency_ns[i][j] = i == j ? 100 : 200;
    }
  }
  return t;
}

struct FakeMachine {
  explicit FakeMachine(const Topology &topology, const PolicyOptions &options, unsigned units = 1,
                       uint8_t home = 0)
      : policy(topology, options), out(units * (kPagesPerUnit + 1)) {
    for (unsigned u = 0; u < units; u++) {
      owned.push_back(std::make_unique<Unit>());
      owned.back()->address = (u + 1) * kSuperpageBytes;
      for (unsigned p = 0; p < kPagesPerUnit; p++)
        MigrationPolicy::placed(*owned.back(), p, home);
      unit.push_back(owned.back().get());
    }
  }
  void access(unsigned u, unsigned page, uint8_t node, unsigned samples) {
    for (unsigned i = 0; i < samples; i++)
      MigrationPolicy::sample(*unit[u], page, node);
  }
  /// Plans and carries out all moves, as a kernel without failures would.
  std::vector<Move> interval() {
    size_t n = policy.plan(unit.data(), unit.size(), out.data(), out.size());
    std::vector<Move> moves(out.begin(), out.begin() + static_cast<long>(n));
    for (const Move &m : moves)
      policy.carried_out(m, true);
    policy.next_interval(unit.data(), unit.size());
    return moves;
  }

  MigrationPolicy policy;
  std::vector<std::unique_ptr<Unit>> owned;
  std::vector<Unit *> unit;
  std::vector<Move> out;
};

} // namespace smalloc::numa
#endif
