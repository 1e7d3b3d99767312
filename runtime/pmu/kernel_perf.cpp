// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel_perf.cpp opens events with perf_event_open. They count the user level only, which
// perf_event_paranoid 2 allows every user.
#include "runtime/pmu/event_names.h"

#include <cerrno>
#include <cstring>

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace smalloc::pmu {
namespace {

class KernelPerf : public PerfSource {
public:
  std::optional<EventCode> event(Quantity quantity) override { return find_event(quantity); }

  int open(const EventCode &code, const Target &target) override {
    struct perf_event_attr attributes;
    std::memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = code.type;
    attributes.config = code.config;
    attributes.config1 = code.config1;
    attributes.config2 = code.config2;
    attributes.disabled = 1;
    attributes.enable_on_exec = target.from_exec;
    attributes.inherit = target.from_exec;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    const long fd =
        syscall(SYS_perf_event_open, &attributes, target.process, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : static_cast<int>(fd);
  }

  void enable(int handle, bool on) override {
    ioctl(handle, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
  }

  std::optional<Reading> read(int handle) override {
    uint64_t values[3] = {0, 0, 0};
    if (::read(handle, values, sizeof values) != sizeof values)
      return std::nullopt;
    return Reading{values[0], values[1], values[2]};
  }

  void close(int handle) override { ::close(handle); }
};

} // namespace

PerfSource &kernel_perf() {
  static KernelPerf source;
  return source;
}

std::string obstacle(PerfSource &source) {
  const auto cycles = source.event(Quantity::kCycles);
  const int handle = cycles ? source.open(*cycles, {}) : -ENOENT;
  if (handle >= 0) {
    source.close(handle);
    return {};
  }
  switch (-handle) {
  case EACCES:
  case EPERM:
    return "events are closed to you (kernel.perf_event_paranoid)";
  case ENOSYS:
    return "perf_event_open is forbidden here";
  default:
    return "there is no PMU here";
  }
}

} // namespace smalloc::pmu
