// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// perf_source.h decides what may be asked of a performance monitoring unit: a few quantities, each
// one event of the processor, counted for a process. The kernel answers (kernel_perf()), or a test's
// own source, so that everything above can be tested on machines without a PMU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace smalloc::pmu {

enum class Quantity {
  kCycles,
  kInstructions,
  kWalks,        // data TLB misses that no level of the TLB answers
  kWalkCycles,   // cycles in which such a walk goes on
  kMemoryStalls, // cycles without progress while a load waits beyond the first cache
  kCacheMisses,  // of the last level
  kBranchMisses,
};
constexpr size_t kQuantities = 7;

struct EventCode {
  uint32_t type = 0; // PERF_TYPE_*
  uint64_t config = 0, config1 = 0, config2 = 0;
  std::string name; // as the processor's manual has it
};

struct Target {
  int process = 0;        // 0: this one
  bool from_exec = false; // begins with the next exec, and goes on in what it starts
};

struct Reading {
  uint64_t count = 0, enabled = 0, running = 0; // running < enabled: the kernel took turns
};

class PerfSource {
public:
  PerfSource() = default;
  PerfSource(const PerfSource &) = delete;
  PerfSource &operator=(const PerfSource &) = delete;
  virtual ~PerfSource() = default;
  // Nothing when the processor has no such event.
  virtual std::optional<EventCode> event(Quantity quantity) = 0;
  // A handle; or an errno value, negative. User level only.
  virtual int open(const EventCode &code, const Target &target) = 0;
  virtual void enable(int handle, bool on) = 0;
  virtual std::optional<Reading> read(int handle) = 0;
  virtual void close(int handle) = 0;
};

// perf_event_open. In most virtual machines it refuses every event.
PerfSource &kernel_perf();

// Why cycles cannot be counted here, in words; empty: they can.
std::string obstacle(PerfSource &source);

} // namespace smalloc::pmu
