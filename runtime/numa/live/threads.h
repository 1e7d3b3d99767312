// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// threads.h binds the program's threads to nodes (numa_bind:on) and stops them while pages move
// (numa_stop:on), each on request only. Both are the paper's; the kernel needs neither to move
// pages.
#ifndef RUNTIME_NUMA_LIVE_THREADS_H
#define RUNTIME_NUMA_LIVE_THREADS_H

#include "smalloc/numa/topology.h"

namespace smalloc::numa {

/// Excludes a thread of smalloc's own from both.
void leave_alone(int thread);
/// Binds each thread that was not seen before to a node with processors, round robin, within the
/// processors that it may use now. Returns the number of threads bound.
unsigned bind_new_threads(const Topology &topology, const char *procfs);

/// Stops every thread except smalloc's own until resume_other_threads(), by a signal, the highest
/// real-time one. Waits 100 ms for them at most; a thread that blocks the signal goes on. False:
/// the program uses the signal, and nothing is done.
bool stop_other_threads(const char *procfs);
void resume_other_threads();
/// Most threads of a list; further ones stay unbound and unstopped.
inline constexpr unsigned kMostThreads = 4096;

} // namespace smalloc::numa
#endif
