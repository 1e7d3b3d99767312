// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// node_policy.h sets the NUMA nodes on which pages of a range appear: mbind(2) without libnuma,
// which allocates.
#ifndef SMALLOC_OS_NODE_POLICY_H
#define SMALLOC_OS_NODE_POLICY_H

#include <stddef.h>
#include <stdint.h>

namespace smalloc {

/// Sets the memory policy of a range. `policy`: MPOL_... of linux/mempolicy.h; `nodes`: a bit each.
/// Moves pages that exist already. Without weighted interleaving in the kernel, interleaves;
/// without MPOL_PREFERRED_MANY, prefers the first node. Returns 0 or an errno value; keeps errno.
int set_node_policy(void *start, size_t bytes, int policy, uint64_t nodes);
/// Counts by node the processors on which this process may run. `node_of_cpu` has an entry for each
/// of `cpus`.
void count_allowed_cpus(const uint8_t *node_of_cpu, unsigned cpus, unsigned *by_node,
                        unsigned nodes);

} // namespace smalloc
#endif
