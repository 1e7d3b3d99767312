// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// marker_list.cpp decides how the markers follow the list: when a page comes to the front from
// behind a marker, the page at the marker falls into the next segment and the marker moves forward.
#include "runtime/reuse/marker_list.h"

#include <algorithm>
#include <stdexcept>

namespace smalloc::reuse {
namespace {
constexpr size_t kMostCapacities = 250; // levels have 8 bits
constexpr size_t kAhead = 12,
                 kNear = 5; // accesses that the table and the node are fetched in advance
} // namespace

MarkerList::MarkerList(std::vector<uint64_t> capacities, uint64_t pages_to_keep)
    : capacities_(std::move(capacities)) {
  std::sort(capacities_.begin(), capacities_.end());
  capacities_.erase(std::unique(capacities_.begin(), capacities_.end()), capacities_.end());
  if (capacities_.empty() || capacities_.size() > kMostCapacities)
    throw std::invalid_argument("a marker list needs 1 to 250 capacities");
  if (capacities_.front() == 0 || capacities_.back() >= UINT32_MAX)
    throw std::invalid_argument("a capacity must be between 1 and 2^32 - 2 pages");
  if (pages_to_keep > capacities_.back())
    capacities_.push_back(std::min<uint64_t>(pages_to_keep, UINT32_MAX - 1));
  markers_.resize(capacities_.size());
  missed_.resize(capacities_.size() + 1);
  nodes_.push_back({});
}

void MarkerList::unlink(uint32_t id) {
  Node &node = nodes_[id];
  nodes_[node.previous].next = node.next;
  nodes_[node.next].previous = node.previous;
}

void MarkerList::push_front(uint32_t id) {
  Node &node = nodes_[id];
  node.level = 0;
  node.previous = 0;
  node.next = nodes_[0].next;
  nodes_[node.next].previous = id;
  nodes_[0].next = id;
}

// Before `id` comes to the front from a segment `level`. A marker that stands at the first page goes to the
// new first one.
void MarkerList::move_markers(unsigned level, uint32_t id) {
  for (unsigned j = 0; j < level; j++) {
    uint32_t &marker = markers_[j];
    if (marker == 0)
      break;
    Node &last = nodes_[marker];
    last.level = j + 1;
    marker = last.previous ? last.previous : id;
  }
}

// A page that no capacity holds. When the list is as long as the largest capacity, its last page makes
// room.
uint32_t MarkerList::new_node(uint64_t page) {
  const unsigned levels = static_cast<unsigned>(capacities_.size());
  if (live_ == capacities_.back()) {
    const uint32_t id = markers_.back();
    index_.erase(nodes_[id].page);
    move_markers(levels - 1, id);
    markers_.back() = nodes_[id].previous ? nodes_[id].previous : id;
    unlink(id);
    nodes_[id].page = page;
    push_front(id);
    return id;
  }
  const auto id = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({});
  nodes_[id].page = page;
  move_markers(levels, id);
  push_front(id);
  live_++;
  for (size_t j = 0; j < markers_.size(); j++)
    if (capacities_[j] == live_)
      markers_[j] = nodes_[0].previous;
  return id;
}

void MarkerList::touch(uint64_t page) {
  const uint32_t id = index_.at(page);
  if (id == PageIndex::kAbsent) {
    missed_.back()++;
    const uint32_t fresh = new_node(page);
    index_.at(page) = fresh;
    return;
  }
  const unsigned level = static_cast<unsigned>(nodes_[id].level);
  missed_[level]++;
  if (nodes_[0].next == id)
    return;
  move_markers(level, id);
  if (level < markers_.size() && markers_[level] == id)
    markers_[level] = nodes_[id].previous;
  unlink(id);
  push_front(id);
}

void MarkerList::access(std::span<const uint64_t> pages) {
  accesses_ += pages.size();
  const size_t ahead = pages.size() > kAhead ? pages.size() - kAhead : 0;
  for (size_t i = 0; i < pages.size(); i++) {
    if (i < ahead) {
      index_.prefetch(pages[i + kAhead]);
      const uint32_t soon = index_.peek(pages[i + kNear]);
      if (soon != PageIndex::kAbsent)
        __builtin_prefetch(&nodes_[soon], 1);
    }
    const uint64_t page = pages[i];
    if (page == last_page_) {
      missed_[0]++;
      continue;
    }
    last_page_ = page;
    touch(page);
  }
}

double MarkerList::misses(uint64_t capacity) const {
  const auto at = std::lower_bound(capacities_.begin(), capacities_.end(), capacity);
  if (at == capacities_.end() || *at != capacity)
    throw std::invalid_argument("the marker list does not count for this capacity");
  uint64_t sum = 0;
  for (size_t level = static_cast<size_t>(at - capacities_.begin()) + 1; level < missed_.size();
       level++)
    sum += missed_[level];
  return static_cast<double>(sum);
}

size_t MarkerList::memory_bytes() const {
  return nodes_.capacity() * sizeof(Node) + index_.memory_bytes();
}

} // namespace smalloc::reuse
