// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numa_simulation.h simulates a trace for `smalloc numa simulate`. It returns the result as a
// document, and as the tables and the figure of Tikir and Hollingsworth 2008.
#pragma once

#include "runtime/cli/numa/numa_site_traffic.h"
#include "runtime/cli/table.h"
#include "runtime/numa/simulator.h"

#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace smalloc::cli {

struct SimulationRequest {
  std::string trace, machine = "server-4", topology, policy = "smalloc", bind = "compact";
  unsigned intervals = 30, sample = 16, content = 1024, shrink = 1;
  unsigned tlb_shrink = 0; // 0: same as shrink
  unsigned horizon = 10, freeze = 3;
  double move_ns = 0;                  // 0: that of the machine
  std::string source = "cache-misses"; // source whose moves are shown per page and per site
};

// Called at the end of each interval.
using IntervalVisitor = std::function<void(const numa::Simulator &)>;

// Returns the scheme that moves base pages by the counts of this source.
size_t scheme_of(const numa::Simulator &simulator, const std::string &source);

// Simulates the trace. Throws Failure if the trace, machine or topology cannot be used.
numa::SimulationResult simulate(const SimulationRequest &request, numa::MachineModel &machine,
                                NumaSiteTraffic &sites, const IntervalVisitor &visit = {});

nlohmann::ordered_json simulation_document(const SimulationRequest &request,
                                           const numa::MachineModel &machine,
                                           const numa::SimulationResult &result,
                                           const NumaSiteTraffic &sites);
std::string simulation_text(const nlohmann::ordered_json &document, Colour colour);

// Reads the description of a machine. Throws Failure that names the key.
numa::Topology load_topology(const std::string &file);

} // namespace smalloc::cli
