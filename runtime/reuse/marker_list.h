// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// marker_list.h decides how the misses of several capacities are counted in one pass: one LRU list,
// with a marker at the last page that each capacity still holds. An access finds its page's
// segment, so it knows at once which capacities miss; the markers above move by one.
//
// Exact. O(capacities missed) an access. Pages are forgotten beyond the largest capacity, or beyond a number
// to keep if that is larger (forgetting costs more than keeping), so memory is bounded however long the
// stream is: at most 16 + 128 bytes times the larger of the two, about 25 where pages are dense.
#pragma once

#include "runtime/reuse/engine.h"
#include "runtime/reuse/page_index.h"

#include <vector>

namespace smalloc::reuse {

class MarkerList : public Engine {
public:
  /// At most 250 capacities, none 0; order and repetition do not matter.
  /// Throws std::invalid_argument otherwise.
  explicit MarkerList(std::vector<uint64_t> capacities, uint64_t pages_to_keep = uint64_t{1} << 20);

  void access(std::span<const uint64_t> pages) override;
  double accesses() const override { return static_cast<double>(accesses_); }
  /// `capacity` is one of those given; throws std::invalid_argument otherwise.
  double misses(uint64_t capacity) const override;
  size_t memory_bytes() const override;

private:
  // The list is circular through node 0, which is no page: next of it is the latest page.
  struct Node {
    uint64_t page : 56;
    uint64_t level : 8; // segment of the list: number of capacities that no longer hold the page
    uint32_t previous, next;
  };
  void touch(uint64_t page);
  void move_markers(unsigned level, uint32_t id);
  void unlink(uint32_t id);
  void push_front(uint32_t id);
  uint32_t new_node(uint64_t page);

  std::vector<uint64_t> capacities_; // ascending; the last may be the number of pages to keep
  std::vector<uint32_t> markers_;    // last node of each segment; 0: the list is shorter
  std::vector<uint64_t> missed_;     // by level: accesses that missed in exactly so many capacities
  std::vector<Node> nodes_;
  PageIndex index_;
  uint64_t live_ = 0, accesses_ = 0;
  uint64_t last_page_ = UINT64_MAX;
};

} // namespace smalloc::reuse
