// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shards.cpp scales the kept accesses back to the whole stream. At a fixed rate it does so when the
// result is read. At a falling rate it scales each access when it happens, by the rate of that
// moment.
#include "benchmarks/shards.h"

#include <algorithm>
#include <stdexcept>

namespace smalloc::reuse {

ShardsFixedRate::ShardsFixedRate(double rate, unsigned region_shift)
    : rate_(rate), threshold_(threshold_of(rate)), region_shift_(region_shift) {
  if (!(rate > 0 && rate <= 1) || threshold_ == 0)
    throw std::invalid_argument("a sampling rate lies between 2^-32 and 1");
}

void ShardsFixedRate::access(std::span<const uint64_t> pages) {
  accesses_ += pages.size();
  while (!pages.empty()) {
    const auto piece = pages.first(pages.size() < kPiece ? pages.size() : kPiece);
    pages = pages.subspan(piece.size());
    size_t n = 0;
    for (uint64_t page : piece) { // without a branch: most are left out, unpredictably
      kept_[n] = page;
      n += region_hash(page >> region_shift_) < threshold_;
    }
    inner_.access({kept_, n});
  }
}

double ShardsFixedRate::misses(uint64_t capacity) const {
  const double kept = static_cast<double>(capacity) * rate_;
  return inner_.histogram().at_least(kept) / rate_;
}

ShardsFixedSize::ShardsFixedSize(size_t pages, unsigned region_shift, double least_rate)
    : most_(pages), region_shift_(region_shift), least_threshold_(threshold_of(least_rate)) {
  if (pages == 0)
    throw std::invalid_argument("a sample needs room for at least one page");
  if (!(least_rate >= 0 && least_rate <= 1))
    throw std::invalid_argument("a sampling rate lies between 0 and 1");
}

// Drops the regions with the largest hash, until there is room or the rate is at its least.
void ShardsFixedSize::lower_rate() {
  threshold_ = std::max<uint64_t>(kept_.top().hash, least_threshold_);
  while (!kept_.empty() && kept_.top().hash >= threshold_) {
    inner_.forget(kept_.top().page);
    kept_.pop();
  }
}

void ShardsFixedSize::take(uint64_t page, uint32_t hash) {
  const double weight = 1 / rate();
  const uint64_t distance = inner_.distance_of(page);
  if (distance != DistanceCounter::kCold) {
    histogram_.add(static_cast<uint64_t>(static_cast<double>(distance) * weight), weight);
    return;
  }
  histogram_.add_cold(weight);
  if (threshold_ <= least_threshold_)
    return; // nothing is dropped any more
  kept_.push({hash, page});
  if (kept_.size() > most_)
    lower_rate();
  if (threshold_ <= least_threshold_)
    kept_ = {};
}

void ShardsFixedSize::access(std::span<const uint64_t> pages) {
  accesses_ += pages.size();
  for (uint64_t page : pages) {
    const uint32_t hash = region_hash(page >> region_shift_);
    if (hash < threshold_)
      take(page, hash);
  }
}

size_t ShardsFixedSize::memory_bytes() const {
  return inner_.memory_bytes() + histogram_.memory_bytes() + kept_.size() * sizeof(Kept);
}

} // namespace smalloc::reuse
