// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// address_sampler.cpp maps a ring for each processor. It asks for 512 KiB, which every user may
// lock (perf_event_mlock_kb), and for half of it again and again if that is refused.
#include "runtime/sampling/address_sampler.h"
#include "runtime/numa/live/pages.h"
#include "smalloc/base/heap_sort.h"
#include "smalloc/base/units.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <new>
#include <time.h>
#include <unistd.h>

namespace smalloc::sampling {
namespace {

constexpr size_t kPage = 4096, kMostRing = 128 * kPage, kLeastRing = 16 * kPage, kAux = 64 * kPage;
#if defined(__aarch64__)
constexpr uint64_t kKernelHalf = uint64_t{1} << 52;
#else
constexpr uint64_t kKernelHalf = uint64_t{1} << 47;
#endif

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
  hooks_ = hooks;
  cpus = min_of(cpus, kMostCpus);
  table_bytes_ = cpus * sizeof(Ring);
  auto *table = static_cast<Ring *>(numa::map_pages(table_bytes_));
  if (!table)
    return ENOMEM;
  perf_event_attr a = attributes_of(event);
  aux_bytes_ = event.kind == trace::SampleKind::kSpe ? kAux : 0;
  ring_bytes_ = kMostRing;
  int error = 0;
  for (unsigned cpu = 0; cpu < cpus; cpu++) {
    void *mapping = nullptr, *aux = nullptr;
    const auto attempt = [&] {
      const size_t bytes = kPage + ring_bytes_;
      return aux_bytes_ ? hooks->open_auxiliary(a, static_cast<int>(cpu), {bytes, aux_bytes_},
                                                &mapping, &aux)
                        : hooks->open(a, static_cast<int>(cpu), bytes, &mapping);
    };
    error = attempt();
    if (error == EINVAL && a.inherit_thread) { // before Linux 5.13
      a.inherit_thread = 0;
      error = attempt();
    }
    while ((error == EPERM || error == ENOMEM) && count_ == 0 && ring_bytes_ > kLeastRing) {
      ring_bytes_ /= 2;
      error = attempt();
    }
    if (error == ENODEV || (error == EINVAL && count_)) { // offline, or absent
      error = count_ ? 0 : ENODEV;
      continue;
    }
    if (error)
      break;
    Ring *ring = new (&table[count_++]) Ring();
    ring->samples = numa::PerfRing(mapping, kPage, ring_bytes_, a.sample_type);
    ring->mapping = mapping;
    ring->aux = aux;
    if (aux)
      ring->auxiliary = numa::SpeRing(static_cast<perf_event_mmap_page *>(mapping),
                                      static_cast<unsigned char *>(aux), aux_bytes_);
  }
  rings_ = table;
  if (count_ == 0 && error == 0)
    error = ENODEV;
  if (error)
    close();
  return error;
}

void AddressSampler::close() {
  for (size_t i = 0; i < count_; i++) {
    hooks_->close(rings_[i].mapping, kPage + ring_bytes_);
    if (rings_[i].aux)
      hooks_->close(rings_[i].aux, aux_bytes_);
  }
  forget();
}

void AddressSampler::forget() {
  if (rings_)
    numa::unmap_pages(rings_, table_bytes_);
  rings_ = nullptr;
  count_ = 0;
}

bool AddressSampler::next(Ring &ring, AddressSample &sample) {
  if (ring.aux) {
    numa::SpeRecord r;
    numa::PerfSample none;
    while (ring.auxiliary.next(r)) {
      if (!(r.load || r.store) || !r.missed_tlb || r.ip >= kKernelHalf || r.address == 0 ||
          r.address >= kKernelHalf || (r.thread && r.thread == ignored_))
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
        s.ip >= kKernelHalf || s.address == 0 || s.address >= kKernelHalf)
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
  for (size_t i = 0; i < count_; i++)
    while (n < most && next(rings_[i], out[n]))
      n++;
  if (event_.kind == trace::SampleKind::kSpe)
    return n; // samples have no times; they stay in the order of each processor
  heap_sort(out, n, [](const AddressSample &a, const AddressSample &b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.address < b.address;
  });
  return n;
}

uint64_t AddressSampler::lost() const {
  uint64_t n = 0;
  for (size_t i = 0; i < count_; i++)
    n += rings_[i].samples.lost();
  return n;
}

} // namespace smalloc::sampling
