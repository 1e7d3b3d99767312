// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// region_sample.h samples regions of 2 MiB by a hash of their number. At a fixed rate it keeps the
// regions whose hash is below a threshold. At a bounded size (samples:N) it keeps the N regions
// with the smallest hashes that the program has accessed. This is the fixed-size variant of SHARDS
// (Waldspurger et al., FAST 2015). The threshold falls as the footprint grows; a small program is
// recorded whole.
//
// Used inside the traced process: no malloc, no waiting, any thread. 40 to 72 bytes for each of the
// N regions.
#ifndef RUNTIME_TRACE_REGION_SAMPLE_H
#define RUNTIME_TRACE_REGION_SAMPLE_H

#include "runtime/trace/format.h"

#include <atomic>

namespace smalloc::trace {

/// Largest N of samples:N.
inline constexpr uint64_t kMostSampledRegions = uint64_t{1} << 20;

/// Regions that a thread has met lately and need not look up again. A loop comes to its few regions
/// in turn, and a lookup takes three times as long as recording the access. Zeros at first.
struct LatelyMet {
  uint64_t region[16]; ///< number + 1; 0: none
};

class RegionSample {
public:
  RegionSample() = default;
  RegionSample(const RegionSample &) = delete;
  RegionSample &operator=(const RegionSample &) = delete;

  /// Sets the first threshold; call it before anything else. most_regions: bound of the sample; 0:
  /// none. False: there is no memory, and so no bound.
  bool open(uint64_t threshold, uint64_t most_regions);
  /// Frees the memory; a process that is recorded never does.
  void close();
  bool bounded() const { return most_ != 0; }
  uint64_t threshold() const { return threshold_.load(std::memory_order_relaxed); }

  /// Notes that the program has accessed a region with this hash. True: the threshold has been
  /// lowered.
  bool meet(uint64_t hash) { return hash < threshold() && !knows(hash) && add(hash); }
  /// Adds the regions of `accesses` (addresses | kWrites) to the sample. Moves the accesses to
  /// sampled regions to the front and returns their number. Sets `lowered` if the threshold was
  /// lowered.
  size_t keep(uint64_t *accesses, size_t count, LatelyMet &met, bool &lowered);
  /// Notes the regions of a loop's references, and leaves none out. True: the threshold has been
  /// lowered.
  bool meet_walk(uint64_t iterations, const WalkReference *references, size_t count);
  /// Releases the lock in a child of fork: the thread that held it is not in this process.
  void forget_others() { busy_.store(false, std::memory_order_relaxed); }

private:
  bool knows(uint64_t hash) const;
  bool add(uint64_t hash);
  void insert(uint64_t hash);
  void lower();

  std::atomic<uint64_t> threshold_{0};
  uint64_t most_ = 0, count_ = 0, mask_ = 0;
  std::atomic<bool> busy_{false};
  std::atomic<uint64_t> *slots_ = nullptr; // hash + 1; 0: free; open addressing
  uint64_t *scratch_ = nullptr;            // room for most_ + 1
  size_t mapped_bytes_ = 0;
};

} // namespace smalloc::trace
#endif
