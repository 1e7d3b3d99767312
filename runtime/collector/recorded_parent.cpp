// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_parent.cpp compares SMALLOC_CONF with the environment that the parent was started with;
// what a shell exports later is not in it. The start of this process comes from the kernel's ticks
// since boot, the only start time that the kernel reports.
#include "runtime/collector/recorded_parent.h"
#include "smalloc/base/clock.h"
#include "smalloc/process/process_identity.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

bool parent_is_recorded() {
  constexpr char kKey[] = "SMALLOC_CONF=";
  constexpr size_t kKeyBytes = sizeof kKey - 1;
  const char *conf = getenv("SMALLOC_CONF");
  if (!conf)
    return false;
  char path[48], piece[1024];
  snprintf(path, sizeof path, "/proc/%d/environ", static_cast<int>(getppid()));
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  const size_t wanted = kKeyBytes + strlen(conf);
  const auto letter = [&](size_t i) { return i < kKeyBytes ? kKey[i] : conf[i - kKeyBytes]; };
  size_t same = 0; // matching letters of this entry; wanted + 1: it differs
  bool found = false;
  for (ssize_t got; !found && (got = read(fd, piece, sizeof piece)) > 0;)
    for (ssize_t i = 0; i < got && !found; i++) {
      const char c = piece[i];
      if (c == 0) {
        found = same == wanted;
        same = 0;
      } else {
        same = same < wanted && letter(same) == c ? same + 1 : wanted + 1;
      }
    }
  close(fd);
  return found;
}

} // namespace

bool is_of_this_run(const char *path) {
  constexpr double kTick = 0.01; // a file's time is that of the last tick: 10 ms old at most
  struct stat there;
  if (stat(path, &there) == 0 && static_cast<double>(there.st_mtim.tv_sec) +
                                         static_cast<double>(there.st_mtim.tv_nsec) / 1e9 >=
                                     began() - kTick)
    return true;
  return parent_is_recorded();
}

} // namespace smalloc::trace
