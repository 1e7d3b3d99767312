// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// clock.h reads the system's clocks in ns. Start times on the wall clock, ns since 1970,
// distinguish processes and their files.
#ifndef SMALLOC_BASE_CLOCK_H
#define SMALLOC_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

namespace smalloc {

/// Returns the time of `clock`; 0 if the system does not count it.
inline uint64_t clock_ns(clockid_t clock) {
  timespec t;
  return clock_gettime(clock, &t) == 0
             ? static_cast<uint64_t>(t.tv_sec) * 1000000000 + static_cast<uint64_t>(t.tv_nsec)
             : 0;
}
/// Returns the same of a constant clock, for hooks.
template <clockid_t clock> uint64_t clock_ns() { return clock_ns(clock); }
inline uint64_t wall_clock_ns() { return clock_ns(CLOCK_REALTIME); }

} // namespace smalloc
#endif
