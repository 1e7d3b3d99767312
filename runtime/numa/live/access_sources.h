// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// access_sources.h samples which processor uses which page, by one of these sources behind one
// interface:
//
//  pmu           the processor samples loads with their data address (PEBS on Intel, IBS on AMD,
//                SPE on Arm); only those that left the second-level cache count (SPE: the first);
//  clock         without that unit (virtual machines): the kernel interrupts each thread every
//                millisecond of its processor time, and the next access is read from the
//                instruction (operand_address.h);
//  faults        page faults with addresses, for systems that allow nothing else. They carry
//                information only while the kernel's own NUMA balancing unmaps pages to see which
//                processor comes back (hint faults);
//  instrumented  the program itself, compiled to pass its accesses (the plugin's profile-generate,
//                or clang's trace-loads and smalloc's recorder): one of every N.
//
// Protecting pages by mprotect and catching the signal is not a source. If the kernel writes to a
// protected page for the program (read(2)), it returns EFAULT instead of raising the signal.
//
// The program's first thread opens the perf events for all threads that it will start, a ring for
// each processor. The descriptors are closed at once (a mapping keeps its event), so a program that
// closes or counts descriptors sees none.
#ifndef RUNTIME_NUMA_LIVE_ACCESS_SOURCES_H
#define RUNTIME_NUMA_LIVE_ACCESS_SOURCES_H

#include "runtime/numa/live/cpu_rings.h"
#include "runtime/numa/live/operand_address.h"
#include "runtime/numa/live/recorded_samples.h"
#include "smalloc/numa/live_options.h"
#include "smalloc/numa/topology.h"

#include <atomic>
#include <linux/perf_event.h>

namespace smalloc::numa {

struct Touch {
  uint64_t address;
  uint32_t cpu;
};

/// Processor time of a thread between two samples of the clock. A sample costs about 2 us.
inline constexpr uint64_t kClockNs = 1000000;
/// Returns the accesses that one sample of the clock stands for: accesses that left the caches, in
/// a quarter of the time that passed, at the latency of local memory. The guess is low on purpose:
/// a program that waits for memory less than that has little to gain.
uint32_t clock_stands_for(double local_ns);

class AccessSources {
public:
  struct Config {
    CountSource wanted = CountSource::kAuto;
    unsigned sample_period = 1024;
    /// True: everything is opened, loaded and mapped as usual, but nothing counts. A replay has to
    /// look like the run that it repeats, down to the addresses.
    bool idle = false;
    const char *sysfs = "/sys", *procfs = "/proc";
    const PerfHooks *hooks = &kKernelPerf;
    CodeReader code = read_own_code;
  };
  /// Opens a source. Returns nullptr, or the reason in words if there is none.
  const char *open(const Config &config, const Topology &topology);
  void close();
  /// Leaves out samples of this thread, which is smalloc's own. Threads may call it at once.
  void ignore_thread(uint32_t thread);
  /// Takes the next sample. False: there is none now.
  bool next(Touch &touch);
  const char *name() const;
  /// Returns the accesses that one sample stands for.
  uint32_t stands_for() const { return recorded_ ? config_.sample_period : stands_for_; }
  uint64_t lost() const;
  uint64_t undecoded() const { return operands_ ? operands_->undecoded() : 0; }
  /// Returns the bytes that stay mapped: the rings.
  size_t bytes() const { return rings_.bytes(); }

private:
  static constexpr size_t kDataBytes = 16 * 4096; ///< 64 KiB a processor: 390 samples of the clock,
                                                  ///< 168 bytes each
  static constexpr size_t kAuxBytes = 64 * 4096;  ///< 4,000 records of SPE
  bool open_pmu(const Topology &topology);
  bool open_spe(const Topology &topology);
  bool from_spe(Touch &touch);
  bool open_clock(const Topology &topology);
  bool open_faults(const Topology &topology);
  bool open_rings(perf_event_attr attr, const Topology &topology, size_t aux_bytes = 0);
  bool from_ring(Touch &touch);
  bool ignores(uint32_t thread) const;
  bool read_text(const char *root, const char *path, char *text, size_t capacity) const;

  Config config_;
  CountSource kind_ = CountSource::kAuto;
  uint32_t stands_for_ = 1;
  int error_ = 0;
  const char *why_ = nullptr;
  bool recorded_ = false; ///< the program passes its accesses: no other source counts
  bool listens_ = true;   ///< the program may pass its accesses
  bool is_spe_ = false;
  CpuRings rings_;
  size_t turn_ = 0;
  OperandAddress *operands_ = nullptr;
  std::atomic<uint32_t> ignored_[4] = {}; ///< 0: none; smalloc's threads enter themselves
};

} // namespace smalloc::numa
#endif
