// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// perf_ring.h takes samples out of a ring buffer that the kernel writes (perf_event_open(2), "MMAP
// layout"). A malformed record ends the reading, never the program: the ring is shared memory, and
// one bad length must not become a bad pointer.
#ifndef RUNTIME_NUMA_LIVE_PERF_RING_H
#define RUNTIME_NUMA_LIVE_PERF_RING_H

#include <stddef.h>
#include <stdint.h>

namespace smalloc::numa {

/// Registers of a sample. x86-64: ax bx cx dx si di bp sp r8..r15, in this order, whatever the
/// kernel's numbers are.
inline constexpr unsigned kPerfRegisters = 16;

struct PerfSample {
  uint64_t ip, address, data_source, time_ns;
  uint32_t process, thread, cpu;
  bool has_registers;
  uint64_t registers[kPerfRegisters];
};

class PerfRing {
public:
  /// True if all these fields (PERF_SAMPLE_* of linux/perf_event.h) can be decoded.
  static bool can_decode(uint64_t sample_type);

  /// Reads the ring at `header`, the first page of the mapping. The data, a power of two bytes,
  /// follow it at data_offset.
  PerfRing() = default;
  PerfRing(void *header, size_t data_offset, size_t data_bytes, uint64_t sample_type)
      : header_(static_cast<char *>(header)), data_offset_(data_offset), data_bytes_(data_bytes),
        sample_type_(sample_type) {}

  /// Takes the next sample, oldest first. False: there is none now.
  bool next(PerfSample &sample);
  uint64_t lost() const { return lost_; }
  uint64_t malformed() const { return malformed_; }

private:
  void copy_out(uint64_t from, void *to, size_t bytes) const;
  bool decode(const unsigned char *record, size_t bytes, PerfSample &sample) const;

  char *header_ = nullptr;
  size_t data_offset_ = 0, data_bytes_ = 0;
  uint64_t sample_type_ = 0;
  uint64_t lost_ = 0, malformed_ = 0;
};

} // namespace smalloc::numa
#endif
