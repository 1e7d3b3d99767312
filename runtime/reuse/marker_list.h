// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// marker_list.h counts the misses of several capacities in one pass over one LRU list, with a
// marker at the last page that each capacity still holds. An access finds when its page was used
// last, so it is known at once which capacities miss. The markers of these capacities move by one
// page.
//
// The list is a bitmap over moments: a bit is set where a page was used for the last time so far,
// and the order of the bits is the list's. A marker is a word of the bitmap and the number of bits
// set in the words behind it. Its bit within the word matters only for a page that was last used in
// that very word, and is counted then. So an access compares and adds the same few numbers for
// every capacity, without a branch. A marker moves to its next word once in some dozens of misses.
// Markers only move forward, through memory that stays in the cache; a list of nodes would have a
// cache miss at each step. Every so often the moments are numbered anew. When there are many known
// pages, those behind the last marker are forgotten.
//
// Exact. O(capacities) an access, four at a time. Memory is bounded however long the stream is. It
// is the sum of two numbers of pages, times 12 bytes where pages are dense and 132 where each lies
// alone. They are the largest capacity, and the larger of kLeastMoments and four times that
// capacity. Other known pages take up to 64 MiB more.
#pragma once

#include "runtime/reuse/engine.h"
#include "runtime/reuse/page_index.h"

#include <vector>

namespace smalloc::reuse {

class MarkerList : public Engine {
public:
  /// Takes at most 250 capacities, each from 1 to 2^30 pages; order and repetition do not matter.
  /// Throws std::invalid_argument otherwise.
  explicit MarkerList(std::vector<uint64_t> capacities);

  void access(std::span<const uint64_t> pages) override;
  double accesses() const override { return static_cast<double>(accesses_); }
  /// Returns the misses of `capacity`. Throws std::invalid_argument if it is none of those given.
  double misses(uint64_t capacity) const override;
  size_t memory_bytes() const override;

  static constexpr uint64_t kLeastMoments = 1 << 14; ///< moments between two renumberings, at least

private:
  static constexpr size_t kLanes = 4; // capacities that one operation handles
  static constexpr int32_t kNoWord = -1;

  void touch(uint32_t &moment);
  size_t use(int32_t from, uint64_t later);
  void place_markers(uint64_t pages);
  uint64_t oldest_held() const;
  void number_anew();

  std::vector<uint64_t> capacities_; // ascending
  // State of kLanes capacities. The marker is in `word`, or the capacity holds all pages (kNoWord).
  // `held` is the number of bits in the words behind; it is less than `most`, which is the
  // capacity. Unused lanes never miss.
  struct alignas(16) Group {
    int32_t word[kLanes], held[kLanes], most[kLanes];
  };
  std::vector<Group> groups_;
  std::vector<uint64_t> missed_; // [n]: accesses that missed in exactly n capacities
  std::vector<uint64_t> used_;   // bit m: a page's last use was at moment m; moments begin at 1
  std::vector<uint32_t> before_; // word -> bits set in the words before it; used by number_anew()
  PageIndex index_;              // page -> moment
  uint64_t now_ = 1, accesses_ = 0;
};

} // namespace smalloc::reuse
