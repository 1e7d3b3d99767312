// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// data_limit.h decides how little we take where the process' data is limited (RLIMIT_DATA, ulimit -d):
// the kernel counts all private memory that may be written to, touched or not, so what lies ready for
// heaps that may never start is memory that the program does not get.
#ifndef SMALLOC_PAGES_DATA_LIMIT_H
#define SMALLOC_PAGES_DATA_LIMIT_H

#include <stddef.h>
#include <stdint.h>

namespace smalloc {

/// RLIMIT_DATA; UINT64_MAX: none.
uint64_t data_limit();

/// The heaps do not start under a lower limit: they need some 12 MiB for themselves (jemalloc's metadata comes in blocks of
/// 2 MiB), a twentieth of this one.
inline constexpr uint64_t kLeastDataLimit = uint64_t{256} << 20;

/// Under a limit jemalloc's one large static table, 2 MiB of zeros, may not be written to until jemalloc starts.
/// REQUIRES: jemalloc has not been started.
void set_table_aside();
/// Before jemalloc starts. False: the system does not give it back.
bool take_table_back();

} // namespace smalloc
#endif
