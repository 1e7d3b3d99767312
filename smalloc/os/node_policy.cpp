// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// node_policy.cpp calls mbind(2) with constants of its own, because Debian 12's linux/mempolicy.h
// has only some of them. If the kernel does not know a policy, it retries with the older one.
#include "smalloc/os/node_policy.h"
#include "smalloc/base/keep_errno.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace smalloc {

int set_node_policy(void *start, size_t bytes, int policy, uint64_t nodes) {
  constexpr int kPreferred = 1, kInterleave = 3, kPreferredMany = 5, kWeighted = 6;
  constexpr unsigned long kMoveOwnPages = 1 << 1, kMostNodes = 65; // one more than the number of
                                                                   // bits
  KeepErrno keep;
  for (;;) {
    const unsigned long mask = nodes;
    if (syscall(SYS_mbind, start, bytes, policy, nodes ? &mask : nullptr, nodes ? kMostNodes : 0,
                kMoveOwnPages) == 0)
      return 0;
    if (errno != EINVAL || (policy != kWeighted && policy != kPreferredMany))
      return errno;
    if (policy == kPreferredMany)
      nodes &= ~nodes + 1;
    policy = policy == kWeighted ? kInterleave : kPreferred;
  }
}

void count_allowed_cpus(const uint8_t *node_of_cpu, unsigned cpus, unsigned *by_node,
                        unsigned nodes) {
  KeepErrno keep;
  cpu_set_t allowed;
  for (unsigned n = 0; n < nodes; n++)
    by_node[n] = 0;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return;
  for (unsigned cpu = 0; cpu < cpus && cpu < CPU_SETSIZE; cpu++)
    if (node_of_cpu[cpu] < nodes && CPU_ISSET(cpu, &allowed))
      by_node[node_of_cpu[cpu]]++;
}

} // namespace smalloc
