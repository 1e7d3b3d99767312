// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// data_limit.h reduces libsmalloc's share of the process' data limit (RLIMIT_DATA, ulimit -d). The
// kernel counts all private writable memory, touched or not. Memory prepared for heaps that may
// never start is thus lost to the program.
#ifndef SMALLOC_PAGES_DATA_LIMIT_H
#define SMALLOC_PAGES_DATA_LIMIT_H

#include <stdint.h>

namespace smalloc {

/// Returns RLIMIT_DATA; UINT64_MAX: none.
uint64_t data_limit();

/// Least limit under which the heaps start. They need some 12 MiB for themselves (jemalloc's
/// metadata comes in blocks of 2 MiB), a twentieth of this limit.
inline constexpr uint64_t kLeastDataLimit = uint64_t{256} << 20;

/// Removes write access to jemalloc's one large static table, 2 MiB of zeros, if there is a limit.
/// REQUIRES: jemalloc has not been started.
void set_table_aside();
/// Restores access, before jemalloc starts. Returns false if the system refuses.
bool take_table_back();

} // namespace smalloc
#endif
