// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// machine_model.h describes the machine that the simulator plays: nodes with the latency of their
// memory, and for each processor two cache levels and a TLB.
#pragma once

#include "smalloc/numa/topology.h"

#include <string>
#include <vector>

namespace smalloc::numa {

struct CacheModel {
  uint64_t bytes;
  unsigned ways, line_bytes;
  double hit_ns;
};

struct TlbModel {
  unsigned entries, ways;
};

struct MachineModel {
  std::string name, source;
  Topology topology;
  CacheModel l1, l2;
  TlbModel tlb, superpage_tlb;
  double walk_ns;
  double move_page_ns, move_superpage_ns;

  /// Shrinks caches and TLBs to 1/n: the trace of a program made n times smaller then meets the
  /// pressure that the whole one would. TLBs get 1/tlb_n, since pages are not made smaller. In a
  /// grid n times smaller, a sweep along a line crosses the cube root of n times fewer pages. The
  /// whole grid fills n times fewer.
  void shrink(unsigned n, unsigned tlb_n);
};

/// Returns the models' names: "sun-fire-6800" (Tikir and Hollingsworth 2008, Table 5 and section
/// 5.2: six boards of two threads) and "server-4" (a current server of four nodes).
std::vector<std::string> machine_model_names();
/// Finds a model by its name. False: there is none.
bool machine_model(const std::string &name, MachineModel &model);

} // namespace smalloc::numa
