// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// address_sampler.h decides how samples with data addresses come out of the kernel's ring buffers, a ring a processor, for this thread
// and all that it will start; and which of them tell of the TLB: those that missed it, or page faults. The rings are read as
// numa/live reads them; nothing is opened twice in a process, since a child of fork does not inherit the mappings.
//
// Tested on rings that the test writes (PEBS, IBS, SPE: no machine with such a unit has been seen by the authors) and on page faults.
//
// Used inside the traced process: no malloc, no C++ runtime.
#ifndef RUNTIME_SAMPLING_ADDRESS_SAMPLER_H
#define RUNTIME_SAMPLING_ADDRESS_SAMPLER_H

#include "runtime/numa/live/access_sources.h"
#include "runtime/numa/live/perf_ring.h"
#include "runtime/numa/live/spe_ring.h"
#include "runtime/trace/sampled_event.h"

#include <stddef.h>
#include <stdint.h>

namespace smalloc::sampling {

struct AddressSample {
  uint64_t time_ns; ///< of CLOCK_MONOTONIC; 0: not told
  uint64_t address;
  uint32_t thread;
  bool write;
};

class AddressSampler {
public:
  static constexpr unsigned kMostCpus = 1024;

  /// 0, or an errno value. cpus: how many the system may have; those that are not there are passed over.
  int open(const trace::SampledEvent &event, unsigned cpus,
           const numa::PerfHooks *hooks = &numa::kKernelPerf);
  void close();
  /// In a child of fork: the rings are not there any more.
  void forget();
  /// Samples of this thread are ours, not the program's.
  void ignore_thread(uint32_t thread) { ignored_ = thread; }
  /// Up to `most` samples of this process, in the order of their time as far as they are there. 0: none is there now.
  size_t take(AddressSample *out, size_t most);
  uint64_t lost() const;

private:
  struct Ring {
    numa::PerfRing samples;
    numa::SpeRing auxiliary;
    void *mapping, *aux;
  };
  bool next(Ring &ring, AddressSample &sample);

  trace::SampledEvent event_ = {};
  const numa::PerfHooks *hooks_ = nullptr;
  Ring *rings_ = nullptr;
  size_t count_ = 0, table_bytes_ = 0, ring_bytes_ = 0, aux_bytes_ = 0;
  uint32_t ignored_ = 0;
};

} // namespace smalloc::sampling
#endif
