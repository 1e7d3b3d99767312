// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// miss_counter.cpp opens the kernel's generic data-TLB miss events, which the kernel maps to each
// processor's own. They count user mode only, which perf_event_paranoid 2 allows every user. If the
// PMU has too few counters for all events, the kernel counts in turns; read() scales the count by
// the share of time in which the event was counted.
#include "smalloc/process/miss_counter.h"

#include "smalloc/files/high_descriptor.h"
#include "smalloc/files/uncancelled.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

namespace smalloc {
namespace {

int open_high(perf_event_attr &event) {
  const auto fd =
      static_cast<int>(syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd < 0)
    return -1;
  const int high = duplicate_high(fd);
  uncancelled::close(fd);
  return high;
}

} // namespace

const MissCounter::Calls MissCounter::kKernel = {
    [] { return prctl(PR_GET_SECCOMP) != 0; },
    open_high,
    // The kernel refuses this request (ENOTTY) for a file of another kind.
    [](int fd, uint64_t &id) { return ioctl(fd, PERF_EVENT_IOC_ID, &id) == 0; },
    uncancelled::read,
    [](int fd) { uncancelled::close(fd); },
};

MissCounter::Event MissCounter::open(uint64_t operation) const {
  perf_event_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_HW_CACHE;
  attributes.config =
      PERF_COUNT_HW_CACHE_DTLB | operation << 8 | uint64_t{PERF_COUNT_HW_CACHE_RESULT_MISS} << 16;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.inherit = 1;
  attributes.inherit_thread = 1; // Linux 5.13
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  Event event;
  event.fd = calls_->open(attributes);
  if (event.fd >= 0 && !calls_->identity(event.fd, event.id)) {
    calls_->close(event.fd);
    event.fd = -1;
  }
  return event;
}

void MissCounter::start(const Calls &calls) {
  if (calls_ || calls.is_filtered())
    return;
  calls_ = &calls;
  loads_ = open(PERF_COUNT_HW_CACHE_OP_READ);
  if (loads_.fd >= 0)
    stores_ = open(PERF_COUNT_HW_CACHE_OP_WRITE);
}

bool MissCounter::read(const Event &event, uint64_t &count) const {
  uint64_t id = 0, values[3] = {0, 0, 0};
  if (event.fd < 0 || !calls_->identity(event.fd, id) || id != event.id ||
      calls_->read(event.fd, values, sizeof values) != static_cast<ssize_t>(sizeof values))
    return false;
  const uint64_t enabled = values[1], running = values[2];
  if (running == 0)
    return false; // the event never had a counter
  const double share = static_cast<double>(running) / static_cast<double>(enabled);
  count = running >= enabled ? values[0]
                             : static_cast<uint64_t>(static_cast<double>(values[0]) / share);
  return true;
}

bool MissCounter::read(uint64_t &misses) const {
  uint64_t loads = 0, stores = 0;
  if (!read(loads_, loads) || (stores_.fd >= 0 && !read(stores_, stores)))
    return false;
  misses = loads + stores;
  return true;
}

} // namespace smalloc
