// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SMALLOC_PROCESS_CPU_TIME_H
#define SMALLOC_PROCESS_CPU_TIME_H

#include <stdint.h>
#include <time.h>

namespace smalloc {

/// Returns the value of CLOCK_PROCESS_CPUTIME_ID or CLOCK_THREAD_CPUTIME_ID in ns; 0 if the system
/// does not count it.
template <clockid_t clock> uint64_t used_ns() {
  timespec t;
  return clock_gettime(clock, &t) == 0
             ? static_cast<uint64_t>(t.tv_sec) * 1000000000 + static_cast<uint64_t>(t.tv_nsec)
             : 0;
}

} // namespace smalloc
#endif
