// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// address_sampler.h takes samples with data addresses from the kernel's ring buffers. There is a
// ring for each processor, for this thread and all that it will start. Only samples about the TLB
// are taken: those that missed it, or page faults. The rings are read as numa/live reads them. A
// child of fork opens rings of its own: it does not inherit the mappings.
//
// Tested on rings that the test writes (PEBS, IBS, SPE: the authors have seen no machine with these
// units) and on page faults.
//
// Used inside the traced process: no malloc, no C++ runtime.
#ifndef RUNTIME_SAMPLING_ADDRESS_SAMPLER_H
#define RUNTIME_SAMPLING_ADDRESS_SAMPLER_H

#include "runtime/numa/live/cpu_rings.h"
#include "runtime/trace/sampled_event.h"

#include <stddef.h>
#include <stdint.h>

namespace smalloc::sampling {

struct AddressSample {
  uint64_t time_ns; ///< of CLOCK_MONOTONIC; 0: unknown
  uint64_t address;
  uint32_t thread;
  bool write;
};

class AddressSampler {
public:
  static constexpr unsigned kMostCpus = 1024;

  /// Opens the rings. Returns 0 or an errno value. cpus: processors that the system may have;
  /// absent ones are skipped.
  int open(const trace::SampledEvent &event, unsigned cpus,
           const numa::PerfHooks *hooks = &numa::kKernelPerf);
  void close() { rings_.close(); }
  /// Forgets the rings in a child of fork, which does not have them.
  void forget() { rings_.forget(); }
  /// Leaves out samples of this thread, which is smalloc's own.
  void ignore_thread(uint32_t thread) { ignored_ = thread; }
  /// Takes up to `most` samples of this process, in the order of their time as far as they have
  /// arrived. Returns their number; 0: there is none now.
  size_t take(AddressSample *out, size_t most);
  uint64_t lost() const { return rings_.lost(); }

private:
  bool next(numa::CpuRings::Ring &ring, AddressSample &sample);

  trace::SampledEvent event_ = {};
  numa::CpuRings rings_;
  uint32_t ignored_ = 0;
};

} // namespace smalloc::sampling
#endif
