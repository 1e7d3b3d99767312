// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// region_sample.h decides which regions of 2 MiB a recording keeps. At a fixed rate: those whose hash is below a threshold. Of
// bounded size (samples:N, the fixed size of SHARDS: Waldspurger et al., FAST 2015): the N with the smallest hashes of all that the
// program has come to, so that the threshold falls as its footprint grows, and a small program is recorded whole.
//
// Used inside the traced process: no malloc, no waiting, any thread. About 40 bytes a region.
#ifndef RUNTIME_TRACE_REGION_SAMPLE_H
#define RUNTIME_TRACE_REGION_SAMPLE_H

#include "runtime/trace/format.h"

#include <atomic>

namespace smalloc::trace {

inline constexpr uint64_t kMostSampledRegions = uint64_t{1} << 20; ///< what samples: takes

/// Regions that a thread has met of late, and need not look up again: a loop's few come in turn, and looking up each costs three
/// times what telling it does. Zeros at first.
struct LatelyMet {
  uint64_t region[16]; ///< + 1
};

class RegionSample {
public:
  RegionSample() = default;
  RegionSample(const RegionSample &) = delete;
  RegionSample &operator=(const RegionSample &) = delete;

  /// Before anything else. most_regions 0: any number. False: no memory, so any number.
  bool open(uint64_t threshold, uint64_t most_regions);
  /// Gives the memory back; a process that is recorded never does.
  void close();
  bool bounded() const { return most_ != 0; }
  uint64_t threshold() const { return threshold_.load(std::memory_order_relaxed); }

  /// The program has come to a region with this hash. True: the threshold has been lowered.
  bool meet(uint64_t hash) { return hash < threshold() && !knows(hash) && add(hash); }
  /// The same of addresses that were told (| kWrites); then moves those that are kept together, and returns how many they are.
  size_t keep(uint64_t *told, size_t count, LatelyMet &met, bool &lowered);
  /// The same of a loop's references. Nothing is left out.
  bool meet_walk(uint64_t iterations, const WalkReference *references, size_t count);
  /// In a child of fork: who was adding is not here any more.
  void forget_others() { busy_.store(false, std::memory_order_relaxed); }

private:
  bool knows(uint64_t hash) const;
  bool add(uint64_t hash);
  void insert(uint64_t hash);
  void lower();

  std::atomic<uint64_t> threshold_{0};
  uint64_t most_ = 0, count_ = 0, mask_ = 0;
  std::atomic<bool> busy_{false};
  std::atomic<uint64_t> *slots_ = nullptr; // hash + 1, 0: free; open addressing
  uint64_t *scratch_ = nullptr;            // room for most_ + 1
  size_t mapped_bytes_ = 0;
};

} // namespace smalloc::trace
#endif
