// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// topology_source.h makes a Topology of this system, through hwloc, or of a described machine,
// smalloc.topology/1 (docs/numa.md). hwloc also takes HWLOC_XMLFILE and HWLOC_SYNTHETIC, so that
// another machine can be studied here.
#pragma once

#include "smalloc/numa/topology.h"

#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace smalloc::numa {

/// Error in a topology; what() is the reason in words: "key 'nodes[1].cpus' is not a list of
/// numbers".
class TopologyError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Returns this system's topology. Bandwidths and latencies are those of the firmware's HMAT, if
/// there is one. Throws TopologyError.
Topology system_topology();
/// Sets the distances of a system that does not tell them.
void default_distances(Topology &topology);
/// Parses a description. Throws TopologyError.
Topology parse_topology(std::string_view json);
nlohmann::ordered_json topology_document(const Topology &topology);

} // namespace smalloc::numa
