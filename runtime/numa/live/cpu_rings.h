// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cpu_rings.h opens an event on each processor, for this thread and all that it will start, and
// keeps the ring of each. A ring has the size that the caller wants, or, if the first is refused
// (perf_event_mlock_kb), half of it again and again, down to 64 KiB.
#ifndef RUNTIME_NUMA_LIVE_CPU_RINGS_H
#define RUNTIME_NUMA_LIVE_CPU_RINGS_H

#include "runtime/numa/live/pages.h"
#include "runtime/numa/live/perf_ring.h"
#include "runtime/numa/live/spe_ring.h"
#include "smalloc/numa/topology.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <new>

namespace smalloc::numa {

/// Addresses from here on are the kernel's.
#if defined(__aarch64__)
inline constexpr uint64_t kKernelHalf = uint64_t{1} << 52;
#else
inline constexpr uint64_t kKernelHalf = uint64_t{1} << 47;
#endif

/// Bytes of an event's mappings.
struct RingBytes {
  size_t ring, aux; ///< aux: 0: there is no auxiliary area
};

struct PerfHooks {
  /// Opens the event for the calling thread and all threads that it will start, on one processor,
  /// mapped and running. Returns 0 or an errno value.
  int (*open)(const perf_event_attr &attr, int cpu, size_t bytes, void **mapping);
  void (*close)(void *mapping, size_t bytes);
  /// Reads a file, as in os_hooks.h.
  long (*read_file)(const char *path, char *buffer, size_t capacity);
  /// Opens an event with an auxiliary area, which lies behind the ring in the event's file.
  int (*open_auxiliary)(const perf_event_attr &attr, int cpu, RingBytes bytes, void **mapping,
                        void **aux);
};
extern const PerfHooks kKernelPerf;

class CpuRings {
public:
  static constexpr size_t kHeader = 4096; ///< the page in front of a ring's data
  static constexpr size_t kLeastData = 16 * 4096;
  struct Ring {
    PerfRing samples;
    SpeRing auxiliary;
    void *mapping, *aux;
    uint32_t cpu;
  };

  /// Opens the event on the first `cpus` processors; absent ones are skipped, and those that
  /// `topology` (nullptr: unknown) does not have. bytes.ring: without the header. Returns 0 or an
  /// errno value; ENODEV if there is no processor.
  int open(const PerfHooks &hooks, perf_event_attr attr, unsigned cpus, const Topology *topology,
           RingBytes bytes) {
    hooks_ = &hooks;
    bytes_ = bytes;
    table_bytes_ = cpus * sizeof(Ring);
    rings_ = static_cast<Ring *>(map_pages(table_bytes_));
    if (!rings_)
      return ENOMEM;
    int error = 0;
    for (unsigned cpu = 0; cpu < cpus && error == 0; cpu++) {
      if (topology && topology->node_of_cpu[cpu] == kNoNode)
        continue;
      error = open_on(cpu, attr);
      if (error == ENODEV || (error == EINVAL && count_)) // offline, or absent
        error = 0;
    }
    if (count_ == 0 && error == 0)
      error = ENODEV;
    if (error)
      close();
    return error;
  }
  void close() {
    for (size_t i = 0; i < count_; i++) {
      hooks_->close(rings_[i].mapping, kHeader + bytes_.ring);
      if (rings_[i].aux)
        hooks_->close(rings_[i].aux, bytes_.aux);
    }
    forget();
  }
  /// Forgets the rings in a child of fork, which does not have them.
  void forget() {
    if (rings_)
      unmap_pages(rings_, table_bytes_);
    rings_ = nullptr;
    count_ = 0;
  }
  size_t size() const { return count_; }
  Ring &operator[](size_t i) { return rings_[i]; }
  /// Returns the bytes that stay mapped, without the auxiliary areas.
  size_t bytes() const { return count_ * (kHeader + bytes_.ring); }
  uint64_t lost() const {
    uint64_t n = 0;
    for (size_t i = 0; i < count_; i++)
      n += rings_[i].samples.lost();
    return n;
  }

private:
  int open_on(unsigned cpu, perf_event_attr &attr) {
    void *mapping = nullptr, *aux = nullptr;
    const auto attempt = [&] {
      const size_t bytes = kHeader + bytes_.ring;
      return bytes_.aux ? hooks_->open_auxiliary(attr, static_cast<int>(cpu), {bytes, bytes_.aux},
                                                 &mapping, &aux)
                        : hooks_->open(attr, static_cast<int>(cpu), bytes, &mapping);
    };
    int error = attempt();
    if (error == EINVAL && attr.inherit_thread) { // before Linux 5.13
      attr.inherit_thread = 0;
      error = attempt();
    }
    while ((error == EPERM || error == ENOMEM) && count_ == 0 && bytes_.ring > kLeastData) {
      bytes_.ring /= 2;
      error = attempt();
    }
    if (error)
      return error;
    Ring &ring = *new (&rings_[count_++]) Ring();
    ring.samples = PerfRing(mapping, kHeader, bytes_.ring, attr.sample_type);
    ring.mapping = mapping;
    ring.aux = aux;
    ring.cpu = cpu;
    if (aux)
      ring.auxiliary = SpeRing(static_cast<perf_event_mmap_page *>(mapping),
                               static_cast<unsigned char *>(aux), bytes_.aux);
    return 0;
  }

  const PerfHooks *hooks_ = nullptr;
  Ring *rings_ = nullptr;
  size_t count_ = 0, table_bytes_ = 0;
  RingBytes bytes_ = {};
};

} // namespace smalloc::numa
#endif
