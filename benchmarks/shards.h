// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shards.h samples accesses: it keeps those whose region's hash lies below a threshold (SHARDS:
// Waldspurger et al., FAST 2015). All accesses to a region are kept or none, so reuse survives; a
// distance among kept pages stands for distance / rate.
//
// ShardsFixedRate keeps a share of all regions. ShardsFixedSize keeps at most a number of pages and
// lowers the rate as pages come, down to a least rate if one is given. So a small stream, of which
// a hundredth would represent little, is kept at a higher rate. Both correct for a sample that
// holds too many or too few accesses (the SHARDS-adj correction): the difference is counted as
// hits.
#pragma once

#include "runtime/reuse/distance_counter.h"

#include <queue>

namespace smalloc::reuse {

/// Returns the hash that selects a region, 0 to 2^32 - 1. The instrumented program uses the same
/// (docs/internals/trace-format.md), so that a trace can be sampled further.
inline uint32_t region_hash(uint64_t region) {
  return static_cast<uint32_t>((region * 0x9e3779b97f4a7c15ull) >> 32);
}
/// Returns the threshold below which a region's hash is kept: rate * 2^32. REQUIRES: 0 < rate <= 1.
inline uint64_t threshold_of(double rate) { return static_cast<uint64_t>(rate * 4294967296.0); }

class ShardsFixedRate : public Engine {
public:
  /// Creates a sampler at `rate`. region_shift: a region is 2^region_shift pages (9 for regions of
  /// 2 MiB in pages of 4 KiB). Throws std::invalid_argument unless 0 < rate <= 1.
  ShardsFixedRate(double rate, unsigned region_shift);

  void access(std::span<const uint64_t> pages) override;
  double accesses() const override { return static_cast<double>(accesses_); }
  double misses(uint64_t capacity) const override;
  size_t memory_bytes() const override { return inner_.memory_bytes() + sizeof kept_; }
  const DistanceCounter &sampled() const { return inner_; }

private:
  static constexpr size_t kPiece = 1024;
  DistanceCounter inner_;
  double rate_;
  uint64_t threshold_;
  unsigned region_shift_;
  uint64_t accesses_ = 0;
  uint64_t kept_[kPiece];
};

class ShardsFixedSize : public Engine {
public:
  /// Creates a sampler of at most `pages` pages. least_rate: from there on the sample grows with
  /// the stream (0: never). Throws std::invalid_argument if pages is 0 or least_rate is no share.
  ShardsFixedSize(size_t pages, unsigned region_shift, double least_rate = 0);

  void access(std::span<const uint64_t> pages) override;
  double accesses() const override { return static_cast<double>(accesses_); }
  double misses(uint64_t capacity) const override {
    return histogram_.at_least(static_cast<double>(capacity));
  }
  size_t memory_bytes() const override;
  /// Returns the current rate.
  double rate() const { return static_cast<double>(threshold_) / 4294967296.0; }
  uint64_t kept_pages() const { return inner_.distinct_pages(); }

private:
  struct Kept {
    uint32_t hash;
    uint64_t page;
    bool operator<(const Kept &other) const {
      return hash != other.hash ? hash < other.hash : page < other.page;
    }
  };
  void take(uint64_t page, uint32_t hash);
  void lower_rate();

  DistanceCounter inner_;
  Histogram histogram_; // distances and counts scaled to the whole stream
  std::priority_queue<Kept> kept_;
  size_t most_;
  unsigned region_shift_;
  uint64_t threshold_ = uint64_t{1} << 32, least_threshold_;
  uint64_t accesses_ = 0;
};

} // namespace smalloc::reuse
