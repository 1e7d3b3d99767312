// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// system_topology_missing.cpp stands for system_topology.cpp where hwloc is not installed, as on a
// system that has only the packages of scripts/demo. Only `smalloc numa topology` without a file
// needs hwloc.
#include "runtime/numa/topology_source.h"

namespace smalloc::numa {

Topology system_topology() {
  throw TopologyError("smalloc was built without hwloc; install libhwloc-dev, and run cmake again");
}

} // namespace smalloc::numa
