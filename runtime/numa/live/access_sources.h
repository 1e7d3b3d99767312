// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// access_sources.h decides who may tell which processor uses which page, behind one interface:
//
//  pmu           the processor samples loads with their data address (PEBS on Intel, IBS on AMD, SPE on Arm); only those that
//                left the second-level cache count (SPE: the first);
//  clock         no such unit (virtual machines): the kernel interrupts each thread every millisecond of its processor
//                time, and the next access is read from the instruction (operand_address.h);
//  faults        page faults with addresses, which tell something only while the kernel's own NUMA balancing unmaps
//                pages to see who comes back (hint faults): for where nothing else is allowed;
//  instrumented  the program itself, compiled to tell its accesses (the plugin's profile-generate, or clang's trace-loads and
//                our recorder): one of every N.
//
// What is not a source: taking pages away by mprotect and catching the signal. A kernel that writes to such a page for
// the program (read(2)) returns EFAULT instead of asking.
//
// perf events are opened by the thread that the program starts with, for all that it will start, a ring a processor; the
// descriptors are closed at once (a mapping keeps its event), so a program that closes or counts descriptors sees none.
#ifndef RUNTIME_NUMA_LIVE_ACCESS_SOURCES_H
#define RUNTIME_NUMA_LIVE_ACCESS_SOURCES_H

#include "runtime/numa/live/operand_address.h"
#include "runtime/numa/live/recorded_samples.h"
#include "runtime/numa/live/spe_ring.h"
#include "smalloc/numa/live_options.h"
#include "smalloc/numa/topology.h"

#include <linux/perf_event.h>

namespace smalloc::numa {

struct Touch {
  uint64_t address;
  uint32_t cpu;
};

struct PerfHooks {
  /// The event for the calling thread and all threads that it will start, on one processor, mapped and running.
  /// 0 or an errno value.
  int (*open)(const perf_event_attr &attr, int cpu, size_t bytes, void **mapping);
  void (*close)(void *mapping, size_t bytes);
  /// As in os_hooks.h.
  long (*read_file)(const char *path, char *buffer, size_t capacity);
  /// The same with an auxiliary area, which lies behind the ring in the event's file.
  int (*open_auxiliary)(const perf_event_attr &attr, int cpu, size_t bytes, size_t aux_bytes,
                        void **mapping, void **aux);
};
extern const PerfHooks kKernelPerf;

/// What one sample of the clock stands for, in accesses that left the caches: a quarter of the time that passed, at the latency
/// of local memory. A guess on the low side: who waits for memory less than that has little to gain.
uint32_t clock_stands_for(unsigned clock_us, double local_ns);

class AccessSources {
public:
  struct Config {
    CountSource wanted = CountSource::kAuto;
    unsigned sample_period = 1024, clock_us = 1000;
    /// Opened, loaded and mapped as ever, but nothing counts: a replay has to look like the run that it repeats, down to the
    /// addresses.
    bool idle = false;
    const char *sysfs = "/sys", *procfs = "/proc";
    const PerfHooks *hooks = &kKernelPerf;
    CodeReader code = read_own_code;
  };
  /// nullptr: some source is there. Else why not, for people.
  const char *open(const Config &config, const Topology &topology);
  void close();
  /// Samples of this thread are ours, not the program's.
  void ignore_thread(uint32_t thread);
  /// False: nothing is there now.
  bool next(Touch &touch);
  const char *name() const;
  /// Accesses that one sample stands for.
  uint32_t stands_for() const { return recorded_ ? config_.sample_period : stands_for_; }
  uint64_t lost() const;
  uint64_t undecoded() const { return operands_ ? operands_->undecoded() : 0; }
  /// Bytes that this keeps mapped: the rings.
  size_t bytes() const { return rings_count_ * kRingBytes; }

private:
  static constexpr size_t kDataPages = 16; ///< 64 KiB a processor: 350 ms of the clock
  static constexpr size_t kRingBytes = (kDataPages + 1) * 4096;
  static constexpr size_t kAuxBytes = 64 * 4096; ///< 4,000 records of SPE
  bool open_pmu(const Topology &topology);
  bool open_spe(const Topology &topology);
  bool from_spe(Touch &touch);
  bool open_clock(const Topology &topology);
  bool open_faults(const Topology &topology);
  bool open_rings(const perf_event_attr &attr, const Topology &topology);
  bool from_ring(Touch &touch);
  bool read_text(const char *root, const char *path, char *text, size_t capacity) const;

  Config config_;
  CountSource kind_ = CountSource::kAuto;
  uint32_t stands_for_ = 1;
  int error_ = 0;
  const char *why_ = nullptr;
  bool recorded_ = false; ///< the program tells its accesses: nothing else counts
  bool listens_ = true;   ///< it may
  PerfRing *rings_ = nullptr;
  void **mappings_ = nullptr;
  struct Auxiliary {
    SpeRing ring;
    uint32_t cpu;
    void *memory;
  };
  Auxiliary *auxiliary_ = nullptr; ///< one a ring, for SPE
  size_t rings_count_ = 0, rings_bytes_ = 0, turn_ = 0;
  OperandAddress *operands_ = nullptr;
  uint32_t ignored_[4] = {};
  unsigned ignored_count_ = 0;
};

} // namespace smalloc::numa
#endif
