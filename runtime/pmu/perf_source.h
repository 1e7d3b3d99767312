// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// perf_source.h is the interface to a performance monitoring unit (PMU). It counts a few quantities
// for a process, each as one event of the processor. kernel_perf() asks the kernel; tests have
// their own source and need no PMU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace smalloc::pmu {

enum class Quantity {
  kCycles,
  kInstructions,
  kWalks,        // page walks: data TLB misses at all levels
  kWalkCycles,   // cycles with a walk of that kind in progress
  kMemoryStalls, // cycles without progress while a load waits for more than the first cache
  kCacheMisses,  // of the last-level cache
  kBranchMisses,
};
constexpr size_t kQuantities = 7;

struct EventCode {
  uint32_t type = 0; // PERF_TYPE_*
  uint64_t config = 0, config1 = 0, config2 = 0;
  std::string name; // as in the processor's manual
};

struct Target {
  int process = 0;        // 0: this process
  bool from_exec = false; // counting starts at the next exec and includes child processes
};

struct Reading {
  uint64_t count = 0, enabled = 0, running = 0; // running < enabled: multiplexed
};

class PerfSource {
public:
  PerfSource() = default;
  PerfSource(const PerfSource &) = delete;
  PerfSource &operator=(const PerfSource &) = delete;
  virtual ~PerfSource() = default;
  // Returns nothing if the processor has no such event.
  virtual std::optional<EventCode> event(Quantity quantity) = 0;
  // Returns a handle, or a negative errno value. Counts the user level only.
  virtual int open(const EventCode &code, const Target &target) = 0;
  virtual void enable(int handle, bool on) = 0;
  virtual std::optional<Reading> read(int handle) = 0;
  virtual void close(int handle) = 0;
};

// Returns the source that uses perf_event_open. Most virtual machines refuse every event.
PerfSource &kernel_perf();

// Returns why cycles cannot be counted, in words; empty if they can.
std::string obstacle(PerfSource &source);

} // namespace smalloc::pmu
