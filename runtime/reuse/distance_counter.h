// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// distance_counter.h counts the full histogram of reuse distances. It has a bit for each moment of
// time, set if some page was used last at that moment. The distance of an access is the number of
// bits set since the page's own. A Fenwick tree over blocks of 512 bits counts whole blocks
// (Bennett and Kruskal 1975, with blocks). When the moments run out, the set bits are moved
// together (compaction), and if they fill more than half of the moments, the moments are doubled.
// So there are at most four times as many moments as pages (or kFirstMoments).
//
// Exact (histogram.h has the bins). O(log(pages / 512)) an access; 8 bytes a moment and the index
// (page_index.h): at most 33 + 128 bytes a page, 15 to 40 where pages are dense.
#pragma once

#include "runtime/reuse/engine.h"
#include "runtime/reuse/histogram.h"
#include "runtime/reuse/page_index.h"

#include <vector>

namespace smalloc::reuse {

class DistanceCounter : public Engine {
public:
  static constexpr uint64_t kCold = UINT64_MAX;

  DistanceCounter();

  void access(std::span<const uint64_t> pages) override;
  double accesses() const override { return static_cast<double>(accesses_); }
  double misses(uint64_t capacity) const override {
    return histogram_.at_least(static_cast<double>(capacity));
  }
  size_t memory_bytes() const override;

  const Histogram &histogram() const { return histogram_; }
  uint64_t distinct_pages() const { return live_; }

  /// Returns the distance of one access, kCold for a first one. Leaves the histogram alone:
  /// samplers weigh the result themselves.
  uint64_t distance_of(uint64_t page);
  /// Records an access without computing its distance; true for a first access. Takes half the
  /// time.
  bool use(uint64_t page);
  /// Prefetches the table's line for `page`; changes nothing.
  void prefetch(uint64_t page) const { index_.prefetch(page); }
  /// Forgets a page: it counts in no later distance, and its next access is a first one.
  void forget(uint64_t page);

private:
  static constexpr unsigned kBlockShift = 9;
  static constexpr uint32_t kBlockBits = 1u << kBlockShift;

  uint32_t live_after(uint32_t time) const;
  void take_away(uint32_t time);
  void put(uint32_t &last, uint64_t page);
  void close_block();
  void compact();

  PageIndex index_;               // page -> moment of its last use
  std::vector<uint64_t> bits_;    // by moment
  std::vector<uint64_t> page_;    // by moment: the page used then
  std::vector<uint32_t> fenwick_; // by closed block, from 1: set bits
  uint32_t now_ = 0, open_ = 0;   // next moment; set bits of its block
  uint64_t live_ = 0, accesses_ = 0;
  uint64_t last_page_ = UINT64_MAX;
  Histogram histogram_;
};

} // namespace smalloc::reuse
