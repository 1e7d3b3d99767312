// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// address_events.cpp lists Intel's event names, newest first, and turns an errno value into words.
#include "runtime/pmu/address_events.h"
#include "runtime/pmu/event_names.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace smalloc::pmu {
namespace {

// Only loads: a store waits in the store buffer during its walk.
constexpr const char *kMissNames[] = {
    "MEM_INST_RETIRED:STLB_MISS_LOADS", // Skylake and later
    "MEM_UOPS_RETIRED:STLB_MISS_LOADS", // Ivy Bridge to Broadwell
    "MEM_UOP_RETIRED:STLB_MISS_LOADS",  // Sandy Bridge
};
constexpr uint64_t kCountOperations = uint64_t{1} << 19; // IBS counts operations, not cycles
constexpr uint64_t kSpeJitter = uint64_t{1} << 16, kSpeLoads = uint64_t{1} << 33,
                   kSpeStores = uint64_t{1} << 34;

std::optional<uint32_t> type_of(const AddressProbe &probe, const std::string &unit) {
  const auto text = probe.read_file("/sys/bus/event_source/devices/" + unit + "/type");
  if (!text)
    return std::nullopt;
  char *end = nullptr;
  const unsigned long type = std::strtoul(text->c_str(), &end, 10);
  return end == text->c_str() ? std::nullopt : std::optional(static_cast<uint32_t>(type));
}

std::string words_of(int error) {
  switch (error) {
  case EACCES:
  case EPERM:
    return "events are closed to you (kernel.perf_event_paranoid)";
  case ENOSYS:
    return "perf_event_open is forbidden here";
  case 0:
  case ENOENT:
  case ENODEV:
  case EOPNOTSUPP:
    return "this machine has no PMU that reports data addresses";
  default:
    return std::string("the kernel refuses the event: ") + std::strerror(error);
  }
}

} // namespace

AddressProbe kernel_probe() {
  AddressProbe probe;
  probe.open = [](const AddressEvent &event, uint64_t period) {
    perf_event_attr a;
    std::memset(&a, 0, sizeof a);
    a.size = sizeof a;
    a.type = event.code.type;
    a.config = event.code.config;
    a.config1 = event.code.config1;
    a.precise_ip = event.precise & 3;
    a.sample_period = period;
    a.sample_type = event.kind == AddressEvent::Kind::kSpe ? 0 : PERF_SAMPLE_IP | PERF_SAMPLE_ADDR;
    a.disabled = 1;
    a.exclude_kernel = a.exclude_hv = event.kind != AddressEvent::Kind::kIbs;
    const long fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
      return errno;
    close(static_cast<int>(fd));
    return 0;
  };
  probe.read_file = [](const std::string &path) -> std::optional<std::string> {
    std::ifstream file(path);
    if (!file)
      return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  return probe;
}

FoundEvent find_address_event(const AddressProbe &probe, uint64_t period,
                              const std::string &table) {
  int refused = 0; // the first refusal whose errno says more than ENOENT
  const auto works = [&](const AddressEvent &event) {
    const uint64_t step = event.period_step;
    const int error = probe.open(event, (period + step - 1) / step * step);
    if (error && (refused == 0 || refused == ENOENT))
      refused = error;
    return error == 0;
  };
  for (const char *name : kMissNames) {
    AddressEvent event;
    if (const auto code = encode_event(name, table)) {
      event.code = *code;
      event.precise = 2; // only PEBS records addresses
      if (works(event))
        return {event, {}};
    }
  }
  if (const auto type = type_of(probe, "ibs_op")) {
    const AddressEvent event = {
        AddressEvent::Kind::kIbs, {*type, kCountOperations, 0, 0, "ibs_op"}, 0, 16};
    if (works(event))
      return {event, {}};
  }
  if (const auto type = type_of(probe, "arm_spe_0")) {
    const AddressEvent event = {AddressEvent::Kind::kSpe,
                                {*type, kSpeJitter | kSpeLoads | kSpeStores, 0, 0, "arm_spe_0"},
                                0,
                                1};
    if (works(event))
      return {event, {}};
  }
  return {std::nullopt, words_of(refused)};
}

} // namespace smalloc::pmu
