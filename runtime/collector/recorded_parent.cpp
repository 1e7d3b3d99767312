// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_parent.cpp compares SMALLOC_CONF with the environment that the parent was started with;
// what a shell exports later is not in it. The start of this process comes from the kernel's ticks
// since boot, the only start time that the kernel reports.
#include "runtime/collector/recorded_parent.h"
#include "smalloc/base/clock.h"
#include "smalloc/process/process_identity.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smalloc::trace {
namespace {

// Returns when this process began, in seconds since 1970; 0: unknown.
double began() {
  const uint64_t ticks = start_ticks(static_cast<uint64_t>(getpid()));
  const uint64_t now = wall_clock_ns(), up = clock_ns(CLOCK_BOOTTIME);
  if (ticks == 0 || now == 0 || up == 0)
    return 0;
  return static_cast<double>(now - up) / 1e9 +
         static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

} // namespace

bool is_of_this_run(const char *path) {
  constexpr double kTick = 0.01; // a file's time is that of the last tick: 10 ms old at most
  struct stat there;
  if (stat(path, &there) == 0 && static_cast<double>(there.st_mtim.tv_sec) +
                                         static_cast<double>(there.st_mtim.tv_nsec) / 1e9 >=
                                     began() - kTick)
    return true;
  const char *conf = getenv("SMALLOC_CONF");
  return conf && parent_was_started_with("SMALLOC_CONF", conf);
}

} // namespace smalloc::trace
