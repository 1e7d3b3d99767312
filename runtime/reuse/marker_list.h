// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// marker_list.h decides how the misses of several capacities are counted in one pass: one LRU list, with a marker at the last page
// that each capacity still holds. An access finds when its page was used last, so it knows at once which capacities miss; the
// markers of these move by one.
//
// The list is a bitmap over moments, in which a bit is set where a page was used for the last time so far: the list's order is that
// of the bits. A marker is a word of the bitmap and the number of bits set in the words behind it; which bit of its word it stands at
// matters only for a page that was last used in that very word, and is counted then. So an access compares and adds the same few
// numbers for every capacity, without a branch, and a marker goes to its next word once in some dozens of misses. Markers only go
// forward, through memory that stays in the cache, where a list of nodes has a miss at each step. Every so often the moments are
// numbered anew, and when they are many the pages behind the last marker are forgotten.
//
// Exact. O(capacities) an access, four at a time. Memory is bounded however long the stream is: kLeastMoments or four times
// the largest capacity, whichever is more, and the largest capacity, times 12 bytes where pages are dense, 132 where each lies alone;
// and 64 MiB of other pages.
#pragma once

#include "runtime/reuse/engine.h"
#include "runtime/reuse/page_index.h"

#include <vector>

namespace smalloc::reuse {

class MarkerList : public Engine {
public:
  /// At most 250 capacities, each from 1 to 2^30 pages; order and repetition do not matter.
  /// Throws std::invalid_argument otherwise.
  explicit MarkerList(std::vector<uint64_t> capacities);

  void access(std::span<const uint64_t> pages) override;
  double accesses() const override { return static_cast<double>(accesses_); }
  /// `capacity` is one of those given; throws std::invalid_argument otherwise.
  double misses(uint64_t capacity) const override;
  size_t memory_bytes() const override;

  static constexpr uint64_t kLeastMoments =
      1 << 14; ///< between two times that moments are numbered anew

private:
  static constexpr size_t kLanes = 4; // capacities that are looked at together
  static constexpr int32_t kNoWord = -1;

  void touch(uint32_t &moment);
  size_t use(int32_t from, uint64_t later);
  void place_markers(uint64_t pages);
  uint64_t oldest_held() const;
  void number_anew();

  std::vector<uint64_t> capacities_; // ascending
  // Of each capacity. The marker is in `word`, or the capacity holds all pages (kNoWord); `held` is the number of bits in the
  // words behind, less than `most`, which is the capacity. Lanes of no capacity never miss.
  struct alignas(16) Group {
    int32_t word[kLanes], held[kLanes], most[kLanes];
  };
  std::vector<Group> groups_;
  std::vector<uint64_t> missed_; // accesses that missed in exactly so many capacities
  std::vector<uint64_t> used_;   // bit m: a page's last use was at moment m; moments begin at 1
  std::vector<uint32_t>
      before_;      // word -> bits set in those before it, while moments are numbered anew
  PageIndex index_; // page -> moment
  uint64_t now_ = 1, accesses_ = 0;
};

} // namespace smalloc::reuse
