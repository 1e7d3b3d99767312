// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// resident_peak.h tests whether memory that is about to be used would raise the peak of the
// process' memory. Memory that is kept for reuse must not do so: before the peak rises, it is given
// back. The kernel's own peak (VmHWM) includes the program that called exec, so it is not used.
#ifndef SMALLOC_PROCESS_RESIDENT_PEAK_H
#define SMALLOC_PROCESS_RESIDENT_PEAK_H

#include "smalloc/base/units.h"

#include <atomic>

namespace smalloc {

/// Thread-safe. Threads may overwrite each other's sums: then memory is given back once too often,
/// or `bytes` later.
class ResidentPeak {
public:
  /// Records the process' anonymous memory in RAM; 0: not known.
  void note(uint64_t resident) {
    if (resident > peak_.load(std::memory_order_relaxed))
      peak_.store(resident, std::memory_order_relaxed);
  }
  /// True if `bytes` more raise the peak. Bytes of earlier calls that the program has not touched
  /// yet count as well. After true, the caller gives kept memory back.
  bool would_rise(uint64_t resident, uint64_t bytes) {
    note(resident);
    const uint64_t before = resident_.exchange(resident, std::memory_order_relaxed);
    const uint64_t grown = resident - min_of(resident, before);
    uint64_t untouched = untouched_.load(std::memory_order_relaxed);
    untouched -= min_of(untouched, grown);
    const uint64_t peak = peak_.load(std::memory_order_relaxed);
    const bool rises = resident == 0 || resident + untouched + bytes > peak;
    untouched_.store(rises ? 0 : untouched + bytes, std::memory_order_relaxed);
    return rises;
  }

private:
  std::atomic<uint64_t> peak_{0}, resident_{0}, untouched_{0};
};

} // namespace smalloc
#endif
