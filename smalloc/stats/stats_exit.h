// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// stats_exit.h decides which processes print statistics when they end, and where to: the one that the user
// started, and of those that it started (fork or exec) those that had big objects, superpages, or much memory in small ones. A
// shell script under LD_PRELOAD ends hundreds of processes; each has nothing to say. With %p in stats_file each process
// whose heaps did something writes its own.
#ifndef SMALLOC_STATS_STATS_EXIT_H
#define SMALLOC_STATS_STATS_EXIT_H

namespace smalloc {
/// When the library is loaded: keeps standard error, which programs close before our turn comes
/// (gnulib's close_stdout).
void statistics_begin();
void statistics_end();
} // namespace smalloc
#endif
