// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// events.cpp decides how the counters are opened and read.
#include "runtime/study/events.h"

#include <algorithm>

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace smalloc::study {
namespace {

int open_event(int process, uint32_t type, uint64_t config) {
  struct perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = type;
  attributes.config = config;
  attributes.disabled = 1;
  attributes.enable_on_exec = 1;
  attributes.inherit = 1;
  attributes.exclude_kernel = 1; // what perf_event_paranoid 2 allows
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, process, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

struct EventKind {
  uint32_t type;
  uint64_t config;
};
constexpr EventKind kKinds[] = {
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_DTLB | PERF_COUNT_HW_CACHE_OP_READ << 8 |
                             PERF_COUNT_HW_CACHE_RESULT_MISS << 16},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
};

} // namespace

EventCounters::EventCounters(int process) {
  fds_.fill(-1);
  if (process > 0)
    for (size_t i = 0; i < fds_.size(); i++)
      fds_[i] = open_event(process, kKinds[i].type, kKinds[i].config);
}

EventCounters::~EventCounters() {
  for (int fd : fds_)
    if (fd >= 0)
      close(fd);
}

Events EventCounters::read() const {
  std::array<std::optional<double>, 5> counts;
  for (size_t i = 0; i < fds_.size(); i++) {
    uint64_t values[3] = {0, 0, 0}; // count, enabled, running
    if (fds_[i] >= 0 && ::read(fds_[i], values, sizeof values) == sizeof values && values[2] > 0)
      counts[i] = static_cast<double>(values[0]) * static_cast<double>(values[1]) /
                  static_cast<double>(values[2]);
  }
  return {counts[0], counts[1], counts[2], counts[3], counts[4]};
}

bool events_available() {
  const int fd = open_event(0, kKinds[0].type, kKinds[0].config);
  if (fd >= 0)
    close(fd);
  return fd >= 0;
}

} // namespace smalloc::study
