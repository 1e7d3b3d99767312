// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// region_sample.cpp lowers the threshold by an eighth of the regions at a time, so that it falls
// seldom; the recording notes each fall. A thread that finds another one adding does not wait: the
// region's next access tries again.
#include "runtime/trace/region_sample.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <sys/mman.h>

namespace smalloc::trace {
namespace {

constexpr uint64_t kLeavesOf = 8; // one region of 8 is dropped
constexpr uint64_t kSlotsARegion = 4;
constexpr unsigned kRegionShift = 21;

// Returns the slot of `hash`. Neighbouring regions have hashes far apart, but hashes below a low
// threshold have the same high bits.
uint64_t slot_of(uint64_t hash) { return (hash * 0x9e3779b97f4a7c15u) >> 32; }

} // namespace

void RegionSample::close() {
  if (slots_)
    munmap(slots_, mapped_bytes_);
  slots_ = nullptr;
}

bool RegionSample::open(uint64_t threshold, uint64_t most_regions) {
  threshold_.store(threshold, std::memory_order_relaxed);
  if (most_regions == 0)
    return true;
  const uint64_t most = std::min(most_regions, kMostSampledRegions);
  const uint64_t slots = std::bit_ceil(most * kSlotsARegion);
  mapped_bytes_ = slots * sizeof(std::atomic<uint64_t>) + (most + 1) * sizeof(uint64_t);
  void *memory =
      mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  slots_ = static_cast<std::atomic<uint64_t> *>(memory); // zeros are free slots
  scratch_ = reinterpret_cast<uint64_t *>(slots_ + slots);
  mask_ = slots - 1;
  most_ = most;
  return true;
}

bool RegionSample::knows(uint64_t hash) const {
  if (!slots_)
    return true;
  for (uint64_t at = slot_of(hash);; at++) {
    const uint64_t seen = slots_[at & mask_].load(std::memory_order_relaxed);
    if (seen == hash + 1)
      return true;
    if (seen == 0)
      return false;
  }
}

void RegionSample::insert(uint64_t hash) {
  uint64_t at = slot_of(hash);
  while (slots_[at & mask_].load(std::memory_order_relaxed) != 0)
    at++;
  slots_[at & mask_].store(hash + 1, std::memory_order_relaxed);
}

bool RegionSample::add(uint64_t hash) {
  if (busy_.exchange(true, std::memory_order_acquire))
    return false;
  bool lowered = false;
  if (hash < threshold() && !knows(hash)) {
    insert(hash);
    if ((lowered = ++count_ > most_))
      lower();
  }
  busy_.store(false, std::memory_order_release);
  return lowered;
}

// Lowers the threshold and drops the regions at or above it. So the table is at most a quarter
// full.
void RegionSample::lower() {
  uint64_t n = 0;
  for (uint64_t at = 0; at <= mask_; at++)
    if (const uint64_t seen = slots_[at].exchange(0, std::memory_order_relaxed))
      scratch_[n++] = seen - 1;
  const uint64_t keep = most_ - most_ / kLeavesOf;
  std::nth_element(scratch_, scratch_ + keep, scratch_ + n);
  threshold_.store(scratch_[keep], std::memory_order_relaxed);
  for (uint64_t i = 0; i < keep; i++)
    insert(scratch_[i]);
  count_ = keep;
}

size_t RegionSample::keep(uint64_t *accesses, size_t count, LatelyMet &met, bool &lowered) {
  for (size_t i = 0; i < count; i++) {
    const uint64_t address = accesses[i] & ~kWrites, region = address >> kRegionShift;
    uint64_t &lately = met.region[region % std::size(met.region)];
    if (lately == region + 1)
      continue;
    const uint64_t hash = region_hash(address);
    lowered |= meet(hash);
    if (hash >= threshold() || knows(hash)) // false if another thread was adding
      lately = region + 1;
  }
  const uint64_t below = threshold();
  if (below == kEveryRegion)
    return count;
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    accesses[kept] = accesses[i];
    kept += region_hash(accesses[i] & ~kWrites) < below;
  }
  return kept;
}

bool RegionSample::meet_walk(uint64_t iterations, const WalkReference *references, size_t count) {
  constexpr int64_t kRegion = int64_t{1} << kRegionShift;
  bool lowered = false;
  for (size_t i = 0; i < count && iterations > 0; i++) {
    const WalkReference &r = references[i];
    const uint64_t last = r.address + static_cast<uint64_t>(r.stride) * (iterations - 1);
    if (r.stride >= kRegion || r.stride <= -kRegion) {
      for (uint64_t n = 0; n < iterations; n++)
        lowered |= meet(region_hash(r.address + static_cast<uint64_t>(r.stride) * n));
      continue;
    }
    const uint64_t high = (r.stride < 0 ? r.address : last) >> kRegionShift;
    for (uint64_t low = (r.stride < 0 ? last : r.address) >> kRegionShift; low <= high; low++)
      lowered |= meet(region_hash(low << kRegionShift));
  }
  return lowered;
}

} // namespace smalloc::trace
