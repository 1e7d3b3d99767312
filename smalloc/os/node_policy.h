// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// node_policy.h decides how the kernel is told on which nodes pages of a range are to appear: mbind(2) without libnuma, which
// allocates.
#ifndef SMALLOC_OS_NODE_POLICY_H
#define SMALLOC_OS_NODE_POLICY_H

#include <stddef.h>
#include <stdint.h>

namespace smalloc {

/// policy: MPOL_... of linux/mempolicy.h; nodes: a bit each. Pages that are there already move. A kernel that does not know weighted
/// interleaving interleaves; one that knows one preferred node only prefers the first. Returns 0 or an errno value; keeps errno.
int set_node_policy(void *start, size_t bytes, int policy, uint64_t nodes);
/// Processors of this process by `node_of_cpu`, which has an entry for each of `cpus`.
void count_allowed_cpus(const uint8_t *node_of_cpu, unsigned cpus, unsigned *by_node,
                        unsigned nodes);

} // namespace smalloc
#endif
