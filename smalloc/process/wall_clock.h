// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wall_clock.h reads the time in ns since 1970. Start times in this form distinguish processes and
// their files.
#ifndef SMALLOC_PROCESS_WALL_CLOCK_H
#define SMALLOC_PROCESS_WALL_CLOCK_H

#include <stdint.h>
#include <time.h>

namespace smalloc {

inline uint64_t wall_clock_ns() {
  timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0)
    return 0;
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

} // namespace smalloc
#endif
