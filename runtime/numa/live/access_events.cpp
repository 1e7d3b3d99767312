// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// access_events.cpp opens each source's event and finds out whether the machine has it. It also
// computes how many accesses a sample stands for.
#include "runtime/numa/live/access_sources.h"
#include "runtime/numa/live/pages.h"
#include "smalloc/base/numbers.h"
#include "smalloc/base/units.h"

#include <errno.h>
#include <initializer_list>
#include <stdio.h>
#include <stdlib.h>

namespace smalloc::numa {
namespace {

/// Registers of a sample: ax bx cx dx si di bp sp, r8 to r15 (asm/perf_regs.h).
constexpr uint64_t kRegisterMask = 0xff00ff;

perf_event_attr event(uint32_t type, uint64_t config, uint64_t period, uint64_t sample_type) {
  perf_event_attr a = {};
  a.type = type;
  a.size = sizeof a;
  a.config = config;
  a.sample_period = period;
  a.sample_type = sample_type;
  a.exclude_kernel = 1;
  a.exclude_hv = 1;
  a.inherit = 1;
  a.inherit_thread = 1; // threads, not children
  a.watermark = 1;      // no thread is woken: the profiler polls
  a.wakeup_watermark = UINT32_MAX;
  return a;
}

/// Returns the value of `term` in a text of sysfs like "event=0xcd,umask=0x1,ldlat=3"; absent: 0.
uint64_t event_term(const char *text, const char *term) {
  const size_t length = strlen(term);
  for (const char *at = text; (at = strstr(at, term)); at++)
    if ((at == text || at[-1] == ',') && at[length] == '=')
      return strtoull(at + length + 1, nullptr, 0);
  return 0;
}

} // namespace

uint32_t clock_stands_for(double local_ns) {
  constexpr double kWaiting = 0.25;
  const double n = static_cast<double>(kClockNs) * kWaiting / (local_ns > 0 ? local_ns : 1);
  return n < 1 ? 1 : static_cast<uint32_t>(n);
}

bool AccessSources::read_text(const char *root, const char *path, char *text,
                              size_t capacity) const {
  char full[512];
  const int n = snprintf(full, sizeof full, "%s%s", root, path);
  return n > 0 && static_cast<size_t>(n) < sizeof full &&
         config_.hooks->read_file(full, text, capacity) > 0;
}

// Leaves error_ at 0 if no processor has the event.
bool AccessSources::open_rings(perf_event_attr attr, const Topology &topology, size_t aux_bytes) {
  attr.disabled = config_.idle;
  is_spe_ = aux_bytes != 0;
  const int error = rings_.open(*config_.hooks, attr, kMaxCpus, &topology, {kDataBytes, aux_bytes});
  error_ = error == ENODEV ? 0 : error;
  return error == 0;
}

bool AccessSources::open_pmu(const Topology &topology) {
  constexpr uint64_t kSample =
      PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | PERF_SAMPLE_DATA_SRC;
  /// PEBS samples loads of at least this latency. It is above the latency of a second-level hit on
  /// any machine; loads that hit a fast third level (40 to 60 cycles) may be missed.
  constexpr uint64_t kLeastLatencyCycles = 64;
  char text[256];
  uint64_t type;
  error_ = 0;
  for (const char *unit : {"cpu", "cpu_core"}) {
    char path[128];
    snprintf(path, sizeof path, "/bus/event_source/devices/%s/events/mem-loads", unit);
    if (!read_text(config_.sysfs, path, text, sizeof text))
      continue;
    const uint64_t code = event_term(text, "event"), mask = event_term(text, "umask");
    snprintf(path, sizeof path, "/bus/event_source/devices/%s/type", unit);
    if (!code || !read_text(config_.sysfs, path, text, sizeof text) ||
        !parse_number(Text(text, strcspn(text, "\n")), type))
      continue;
    perf_event_attr a =
        event(static_cast<uint32_t>(type), code | mask << 8, config_.sample_period, kSample);
    a.config1 = kLeastLatencyCycles;
    a.precise_ip = 2;
    if (open_rings(a, topology)) {
      stands_for_ = config_.sample_period;
      return true;
    }
  }
  if (read_text(config_.sysfs, "/bus/event_source/devices/ibs_op/type", text, sizeof text) &&
      parse_number(Text(text, strcspn(text, "\n")), type)) {
    // IBS counts operations, not accesses, in steps of 16, and cannot leave out the kernel itself.
    constexpr uint64_t kCountOperations = uint64_t{1} << 19;
    perf_event_attr a = event(static_cast<uint32_t>(type), kCountOperations,
                              uint64_t{config_.sample_period} * 16, kSample);
    a.exclude_kernel = a.exclude_hv = 0;
    if (open_rings(a, topology)) {
      stands_for_ = config_.sample_period * 16;
      return true;
    }
  }
  if (!error_ && open_spe(topology))
    return true;
  if (!error_)
    error_ = ENOENT;
  return false;
}

/// Opens Arm's unit. It follows one operation in a period from its dispatch to its end, and records
/// it if it was a load or a store.
bool AccessSources::open_spe(const Topology &topology) {
  char text[64];
  uint64_t type;
  if (!read_text(config_.sysfs, "/bus/event_source/devices/arm_spe_0/type", text, sizeof text) ||
      !parse_number(Text(text, strcspn(text, "\n")), type))
    return false;
  constexpr uint64_t kJitter = uint64_t{1} << 16, kLoads = uint64_t{1} << 33,
                     kStores = uint64_t{1} << 34;
  const perf_event_attr a =
      event(static_cast<uint32_t>(type), kJitter | kLoads | kStores, config_.sample_period, 0);
  if (!open_rings(a, topology, kAuxBytes))
    return false;
  stands_for_ = config_.sample_period;
  return true;
}

bool AccessSources::open_clock(const Topology &topology) {
  auto *memory = static_cast<OperandAddress *>(map_pages(sizeof(OperandAddress)));
  if (!memory)
    return false;
  why_ = memory->open(config_.code);
  error_ = 0;
  perf_event_attr a =
      event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, kClockNs,
            PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CPU | PERF_SAMPLE_REGS_USER);
  a.sample_regs_user = kRegisterMask;
  if (why_ || !open_rings(a, topology)) {
    unmap_pages(memory, sizeof(OperandAddress));
    return false;
  }
  operands_ = memory;
  double local = 0;
  for (unsigned n = 0; n < topology.nodes; n++)
    local = local > topology.latency(n, n) ? local : topology.latency(n, n);
  stands_for_ = clock_stands_for(local);
  return true;
}

bool AccessSources::open_faults(const Topology &topology) {
  char text[64];
  if (config_.wanted == CountSource::kAuto &&
      (!read_text(config_.procfs, "/sys/kernel/numa_balancing", text, sizeof text) ||
       text[0] == '0')) {
    why_ = "page faults say nothing while kernel.numa_balancing is 0";
    return false;
  }
  const perf_event_attr a =
      event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 1,
            PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU);
  stands_for_ = config_.sample_period;
  return open_rings(a, topology);
}

} // namespace smalloc::numa
