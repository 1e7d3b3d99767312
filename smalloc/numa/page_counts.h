// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_counts.h records for a base page where it lies, how much each node uses it, and how long it
// stays frozen. A page takes twelve bytes, so the counts of a whole program take less than 0.3 % of
// its memory (12 / 4096 = 0.29 %).
//
// A page has four counters, kept by Space-Saving (Metwally, Agrawal, El Abbadi: Efficient
// computation of frequent and top-k elements in data streams, ICDT 2005). They are exact while at
// most four nodes use the page. With more nodes the counts still sum up to the total, and a node
// with more than a quarter of the accesses is never lost. A page that no node uses for more than a
// quarter has no dominant node anyway.
#ifndef SMALLOC_NUMA_PAGE_COUNTS_H
#define SMALLOC_NUMA_PAGE_COUNTS_H

#include "smalloc/numa/topology.h"

namespace smalloc::numa {

class PageCounts {
public:
  static constexpr unsigned kSlots = 4;

  uint8_t home() const { return static_cast<uint8_t>(state_ >> 2); }
  void set_home(uint8_t node) { state_ = static_cast<uint8_t>(node << 2 | (state_ & 3)); }
  /// Returns the number of intervals, 0..3, in which the page must not move.
  unsigned frozen() const { return state_ & 3; }
  void freeze(unsigned intervals) {
    state_ = static_cast<uint8_t>((state_ & ~3u) | (intervals > 3 ? 3 : intervals));
  }

  unsigned slot_count(unsigned slot) const { return count_[slot]; }
  uint8_t slot_node(unsigned slot) const { return (nodes_() >> (6 * slot)) & 63; }

  /// Counts one sampled access by a processor of `node`.
  void add(uint8_t node) {
    unsigned least = 0;
    for (unsigned s = 0; s < kSlots; s++) {
      if (count_[s] && slot_node(s) == node) {
        bump(s);
        return;
      }
      if (count_[s] < count_[least])
        least = s;
    }
    set_slot_node(least, node);
    bump(least);
  }
  unsigned count(uint8_t node) const {
    for (unsigned s = 0; s < kSlots; s++)
      if (count_[s] && slot_node(s) == node)
        return count_[s];
    return 0;
  }
  unsigned total() const { return count_[0] + count_[1] + count_[2] + count_[3]; }
  /// Returns the node with the highest count, the lowest of equals; kNoNode: never sampled.
  uint8_t dominant() const {
    unsigned best = 0;
    for (unsigned s = 1; s < kSlots; s++)
      if (count_[s] > count_[best] ||
          (count_[s] == count_[best] && count_[s] && slot_node(s) < slot_node(best)))
        best = s;
    return count_[best] ? slot_node(best) : kNoNode;
  }
  /// Ages the counts at the end of an interval: multiplies them by `keep256 / 256`.
  void age(unsigned keep256) {
    for (uint16_t &c : count_)
      c = static_cast<uint16_t>(c * keep256 / 256);
  }
  void thaw() {
    if (state_ & 3)
      state_--;
  }

private:
  uint32_t nodes_() const { return node_[0] | node_[1] << 8 | uint32_t{node_[2]} << 16; }
  void set_slot_node(unsigned slot, uint8_t node) {
    uint32_t n = (nodes_() & ~(63u << (6 * slot))) | uint32_t{node} << (6 * slot);
    for (unsigned b = 0; b < 3; b++)
      node_[b] = static_cast<uint8_t>(n >> (8 * b));
  }
  void bump(unsigned slot) {
    if (count_[slot] == UINT16_MAX)
      for (uint16_t &c : count_)
        c = static_cast<uint16_t>(c / 2);
    count_[slot]++;
  }

  uint16_t count_[kSlots] = {};
  uint8_t node_[3] = {};
  uint8_t state_ = kNoNode << 2;
};
static_assert(sizeof(PageCounts) == 12, "the profile's memory is promised: 0.3 % of the footprint");

} // namespace smalloc::numa
#endif
