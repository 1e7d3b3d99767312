// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// stats_exit.h prints statistics at the end of a process. The process that the user started always
// prints. A process that it started (fork or exec) prints only if it had big objects, superpages,
// or much memory in small objects. A shell script under LD_PRELOAD ends hundreds of processes
// without any of these. With %p in stats_file each process whose heaps were used writes a file of
// its own.
#ifndef SMALLOC_STATS_STATS_EXIT_H
#define SMALLOC_STATS_STATS_EXIT_H

namespace smalloc {
/// Duplicates standard error when the library is loaded: programs close it before statistics_end()
/// (gnulib's close_stdout).
void statistics_begin();
void statistics_end();
} // namespace smalloc
#endif
