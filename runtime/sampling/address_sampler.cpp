// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// address_sampler.cpp asks for rings of 512 KiB, which every user may lock (perf_event_mlock_kb).
#include "runtime/sampling/address_sampler.h"
#include "smalloc/base/heap_sort.h"
#include "smalloc/base/units.h"

#include <linux/perf_event.h>
#include <time.h>
#include <unistd.h>

namespace smalloc::sampling {
namespace {

constexpr size_t kMostData = 128 * 4096, kAux = 64 * 4096;

bool missed_tlb(uint64_t data_source) {
  const uint64_t tlb = data_source >> PERF_MEM_TLB_SHIFT;
  return (tlb & PERF_MEM_TLB_MISS) != 0;
}

perf_event_attr attributes_of(const trace::SampledEvent &event) {
  perf_event_attr a = {};
  a.size = sizeof a;
  a.type = event.type;
  a.config = event.config;
  a.config1 = event.config1;
  a.precise_ip = event.precise & 3;
  a.sample_period = event.period;
  a.sample_type = event.kind == trace::SampleKind::kSpe
                      ? 0
                      : PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
                            PERF_SAMPLE_CPU;
  if (event.kind == trace::SampleKind::kMisses || event.kind == trace::SampleKind::kIbs)
    a.sample_type |= PERF_SAMPLE_DATA_SRC;
  // IBS cannot leave out the kernel itself; its samples are skipped.
  a.exclude_kernel = a.exclude_hv = event.kind != trace::SampleKind::kIbs;
  a.inherit = 1;
  a.inherit_thread = 1; // threads, not children
  a.watermark = 1;      // no thread is woken: the rings are polled
  a.wakeup_watermark = UINT32_MAX;
  a.use_clockid = 1;
  a.clockid = CLOCK_MONOTONIC;
  return a;
}

} // namespace

int AddressSampler::open(const trace::SampledEvent &event, unsigned cpus,
                         const numa::PerfHooks *hooks) {
  event_ = event;
  return rings_.open(*hooks, attributes_of(event), min_of(cpus, kMostCpus), nullptr,
                     {kMostData, event.kind == trace::SampleKind::kSpe ? kAux : 0});
}

bool AddressSampler::next(numa::CpuRings::Ring &ring, AddressSample &sample) {
  if (ring.aux) {
    numa::SpeRecord r;
    numa::PerfSample none;
    while (ring.auxiliary.next(r)) {
      if (!(r.load || r.store) || !r.missed_tlb || r.ip >= numa::kKernelHalf || r.address == 0 ||
          r.address >= numa::kKernelHalf || (r.thread && r.thread == ignored_))
        continue;
      sample = {0, r.address, r.thread, r.store};
      return true;
    }
    ring.samples.next(none); // the kernel's records about the auxiliary area
    return false;
  }
  numa::PerfSample s;
  while (ring.samples.next(s)) {
    if (s.process != static_cast<uint32_t>(getpid()) || s.thread == ignored_ ||
        s.ip >= numa::kKernelHalf || s.address == 0 || s.address >= numa::kKernelHalf)
      continue;
    if (event_.kind == trace::SampleKind::kIbs && !missed_tlb(s.data_source))
      continue;
    sample = {s.time_ns, s.address, s.thread, (s.data_source & PERF_MEM_OP_STORE) != 0};
    return true;
  }
  return false;
}

size_t AddressSampler::take(AddressSample *out, size_t most) {
  size_t n = 0;
  for (size_t i = 0; i < rings_.size(); i++)
    while (n < most && next(rings_[i], out[n]))
      n++;
  if (event_.kind == trace::SampleKind::kSpe)
    return n; // samples have no times; they stay in the order of each processor
  heap_sort(out, n, [](const AddressSample &a, const AddressSample &b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.address < b.address;
  });
  return n;
}

} // namespace smalloc::sampling
