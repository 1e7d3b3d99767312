// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// threads.h decides what may be done to the program's threads, each on request only: bind them to nodes (numa_bind:on),
// stop them while pages move (numa_stop:on). Both are the paper's; the kernel needs neither to move pages.
#ifndef RUNTIME_NUMA_LIVE_THREADS_H
#define RUNTIME_NUMA_LIVE_THREADS_H

#include "smalloc/numa/topology.h"

namespace smalloc::numa {

/// Threads of ours, which are left alone.
void leave_alone(int thread);
/// Binds each thread that was not seen before to a node with processors, round robin, within what it is allowed now.
/// Returns how many.
unsigned bind_new_threads(const Topology &topology, const char *procfs);

/// Stops every thread but ours with a signal, the highest real-time one, until resume_other_threads(). Waits 100 ms for them
/// at most: who blocks the signal goes on. False: the program uses the signal, and nothing is done.
bool stop_other_threads(const char *procfs);
void resume_other_threads();
/// Most threads that a list of them may have; more stay unbound and unstopped.
inline constexpr unsigned kMostThreads = 4096;

} // namespace smalloc::numa
#endif
