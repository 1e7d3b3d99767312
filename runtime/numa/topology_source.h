// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// topology_source.h decides where a Topology comes from: this system through hwloc (which also takes
// HWLOC_XMLFILE and HWLOC_SYNTHETIC, so another machine's map can be studied here), or a described
// machine, smalloc.topology/1 (docs/numa.md).
#pragma once

#include "smalloc/numa/topology.h"

#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace smalloc::numa {

/// what() is the reason in words: "key 'nodes[1].cpus' is not a list of numbers".
class TopologyError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// This system. Bandwidths and latencies are those of the firmware's HMAT, where there is one.
/// Throws TopologyError.
Topology system_topology();
/// A description. Throws TopologyError.
Topology parse_topology(std::string_view json);
nlohmann::ordered_json topology_document(const Topology &topology);

} // namespace smalloc::numa
