// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// spe_ring.h reads the records of Arm's Statistical Profiling Extension. They lie in the auxiliary
// area of a perf event, which is a ring of its own. A record is packets of one to nine bytes (Arm
// Architecture Reference Manual, part D, "Statistical Profiling Extension Sample Record
// Specification"). Bytes that make no sense are skipped one by one, with their record.
//
// Tested on buffers that the test writes; the authors have seen no machine with the unit.
#ifndef RUNTIME_NUMA_LIVE_SPE_RING_H
#define RUNTIME_NUMA_LIVE_SPE_RING_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

namespace smalloc::numa {

/// One sampled operation.
struct SpeRecord {
  uint64_t ip, address; ///< user addresses without tags; 0: unknown
  uint32_t thread;      ///< 0: the kernel does not report it (CONFIG_PID_IN_CONTEXTIDR)
  uint32_t cycles;      ///< from dispatch to the end
  bool store, load;
  bool missed_first_level; ///< the access refilled a line of the first-level data cache
  bool missed_last_level, remote;
  bool missed_tlb; ///< its translation needed a walk
};

class SpeRing {
public:
  SpeRing() = default;
  /// Reads the area `aux`, a power of two bytes, with aux_head and aux_tail of `page`, the event's
  /// first page.
  SpeRing(perf_event_mmap_page *page, const unsigned char *aux, size_t aux_bytes)
      : page_(page), aux_(aux), aux_bytes_(aux_bytes) {}

  /// Takes the next record, oldest first. False: no whole one is there now.
  bool next(SpeRecord &record);
  uint64_t malformed() const { return malformed_; }

private:
  unsigned char byte(uint64_t at) const { return aux_[at & (aux_bytes_ - 1)]; }
  void apply(unsigned kind, unsigned index, uint64_t payload);

  perf_event_mmap_page *page_ = nullptr;
  const unsigned char *aux_ = nullptr;
  size_t aux_bytes_ = 0;
  SpeRecord open_ = {}; ///< record whose packets are still coming
  bool damaged_ = false;
  uint64_t malformed_ = 0;
};

} // namespace smalloc::numa
#endif
