// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// system_nodes.h decides what is known of the machine inside a program: what the kernel says below
// /sys/devices/system/node. (The command asks hwloc; that library allocates and starts much that a guest in somebody else's
// process must not.)
#ifndef SMALLOC_NUMA_SYSTEM_NODES_H
#define SMALLOC_NUMA_SYSTEM_NODES_H

#include "smalloc/numa/topology.h"

namespace smalloc::numa {

/// As in os_hooks.h.
using FileReader = long (*)(const char *path, char *buffer, size_t capacity);
long read_system_file(const char *path, char *buffer, size_t capacity);

/// sysfs: "/sys", or where a test or a container keeps its own. False: the kernel has no NUMA support.
bool read_nodes(FileReader read, const char *sysfs, Topology &topology);
/// Free memory of a node now; 0: not known.
uint64_t read_free_bytes(FileReader read, const char *sysfs, uint32_t os_node);
/// Calls each(number, data) for "0-3,8". False: it is no such list.
bool for_each_in_list(const char *list, void (*each)(unsigned, void *), void *data);

} // namespace smalloc::numa
#endif
