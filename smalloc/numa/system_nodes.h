// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// system_nodes.h reads the machine's NUMA topology from /sys/devices/system/node, for use inside a
// program. (The smalloc command uses hwloc, which allocates and starts more than a library in
// another program's process may.)
#ifndef SMALLOC_NUMA_SYSTEM_NODES_H
#define SMALLOC_NUMA_SYSTEM_NODES_H

#include "smalloc/numa/topology.h"

#include <stddef.h>

namespace smalloc::numa {

/// Reads a file as read_system_file() does (system_file.h).
using FileReader = long (*)(const char *path, char *buffer, size_t capacity);

/// Reads the topology. `sysfs`: "/sys", or a test's or container's copy. Returns false if the
/// kernel has no NUMA support.
bool read_nodes(FileReader read, const char *sysfs, Topology &topology);
/// Returns the node's free memory in bytes; 0: unknown.
uint64_t read_free_bytes(FileReader read, const char *sysfs, uint32_t os_node);
/// Calls each(number, data) for each number of a list such as "0-3,8". Returns false if `list` has
/// another form.
bool for_each_in_list(const char *list, void (*each)(unsigned, void *), void *data);

} // namespace smalloc::numa
#endif
