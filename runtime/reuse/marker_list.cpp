// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// marker_list.cpp moves the markers. When a page comes to the front from behind a marker, one more
// bit is set behind the marker's word. Once these bits alone are as many as the capacity, the
// marker moves to the next word.
#include "runtime/reuse/marker_list.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace smalloc::reuse {
namespace {
constexpr size_t kMostCapacities = 250;
constexpr uint64_t kMostPages = uint64_t{1} << 30; // moments have 32 bits
constexpr uint64_t kWordBits = 64;
constexpr size_t kMostBlocks = 1 << 17; // of known pages, beyond those that are held
// Moments before they are numbered anew: the more, the less an access pays for it. Each of them may
// bring a page that is not known yet.
constexpr uint64_t kMomentsAPage = 4;
constexpr uint64_t kMostMomentsToKnown = 1 << 18; // bound, since numbering takes as long as pages
                                                  // are known

/// Four lanes; the compiler makes one instruction of an operator on them.
using Lanes __attribute__((vector_size(16))) = int32_t;

inline Lanes load(const int32_t *lanes) {
  Lanes all = {};
  std::memcpy(&all, lanes, sizeof all);
  return all;
}

} // namespace

MarkerList::MarkerList(std::vector<uint64_t> capacities) : capacities_(std::move(capacities)) {
  std::sort(capacities_.begin(), capacities_.end());
  capacities_.erase(std::unique(capacities_.begin(), capacities_.end()), capacities_.end());
  if (capacities_.empty() || capacities_.size() > kMostCapacities)
    throw std::invalid_argument("a marker list needs 1 to 250 capacities");
  if (capacities_.front() == 0 || capacities_.back() > kMostPages)
    throw std::invalid_argument("a capacity must be between 1 and 2^30 pages");
  groups_.resize((capacities_.size() + kLanes - 1) / kLanes);
  for (size_t k = 0; k < groups_.size() * kLanes; k++) {
    Group &group = groups_[k / kLanes];
    const bool any = k < capacities_.size();
    group.word[k % kLanes] = any ? kNoWord : INT32_MIN;
    group.most[k % kLanes] = any ? static_cast<int32_t>(capacities_[k]) : INT32_MAX;
    group.held[k % kLanes] = 0;
  }
  missed_.resize(capacities_.size() + 1);
  used_.resize(kLeastMoments / kWordBits);
}

// Counts a use of a page that was last used in word `from`, or never (kNoWord). Its old bit is
// cleared; `later` are the word's bits behind it. Returns the number of capacities that miss.
size_t MarkerList::use(int32_t from, uint64_t later) {
  const auto to = static_cast<int32_t>(now_ / kWordBits);
  used_[now_ / kWordBits] |= uint64_t{1} << (now_ % kWordBits);
  now_++;
  const Lanes froms = {from, from, from, from}, tos = {to, to, to, to};
  Lanes missed = {}, look = {}; // a true lane is -1
  for (Group &group : groups_) {
    const Lanes word = load(group.word);
    const Lanes behind = froms < word, here = froms == word;
    const Lanes held = load(group.held) - ((behind | here) & (word < tos));
    std::memcpy(group.held, &held, sizeof held);
    missed -= behind;
    look |= here | (held >= load(group.most));
  }
  int32_t count = missed[0] + missed[1] + missed[2] + missed[3];
  if ((look[0] | look[1] | look[2] | look[3]) == 0)
    return static_cast<size_t>(count);
  const int32_t since = std::popcount(later);
  for (Group &group : groups_)
    for (size_t k = 0; k < kLanes; k++) {
      if (group.word[k] == from && from != kNoWord)
        count += group.held[k] - (from < to) + since >= group.most[k];
      while (group.held[k] >= group.most[k])
        group.held[k] -= std::popcount(used_[static_cast<size_t>(++group.word[k])]);
    }
  return static_cast<size_t>(count);
}

void MarkerList::touch(uint32_t &moment) {
  const uint64_t last = moment;
  if (last + 1 == now_) {
    missed_[0]++;
    return;
  }
  moment = static_cast<uint32_t>(now_);
  if (last == PageIndex::kAbsent ||
      last == 0) { // last == 0: it is behind the last marker, and no bit stands for it
    use(kNoWord, 0);
    missed_.back()++;
    return;
  }
  uint64_t &bits = used_[last / kWordBits];
  bits &= ~(uint64_t{1} << (last % kWordBits));
  missed_[use(static_cast<int32_t>(last / kWordBits), bits >> (last % kWordBits))]++;
}

void MarkerList::access(std::span<const uint64_t> pages) {
  accesses_ += pages.size();
  while (!pages.empty()) {
    const uint64_t room = used_.size() * kWordBits - now_;
    if (room == 0) {
      number_anew();
      continue;
    }
    const auto some = pages.first(std::min<uint64_t>(room, pages.size()));
    index_.at_each(some, [this](uint32_t &moment) { touch(moment); });
    pages = pages.subspan(some.size());
  }
}

// Returns the moment of the last page that the largest capacity holds; 0: it holds them all.
uint64_t MarkerList::oldest_held() const {
  const Group &group = groups_.back();
  const size_t k = (capacities_.size() - 1) % kLanes;
  if (group.word[k] == kNoWord)
    return 0;
  const auto word = static_cast<uint64_t>(group.word[k]);
  uint64_t bits = used_[word];
  for (int32_t lower = group.held[k] + std::popcount(bits) - group.most[k]; lower > 0; lower--)
    bits &= bits - 1;
  return word * kWordBits + static_cast<uint64_t>(std::countr_zero(bits));
}

// Places the markers for a list in which the moments 1 to `pages` are all used.
void MarkerList::place_markers(uint64_t pages) {
  for (size_t k = 0; k < capacities_.size(); k++) {
    const bool marked = pages >= capacities_[k];
    const uint64_t word = marked ? (pages - capacities_[k] + 1) / kWordBits : 0;
    const uint64_t before = marked ? std::min(pages, (word + 1) * kWordBits - 1) : 0;
    Group &group = groups_[k / kLanes];
    group.word[k % kLanes] = marked ? static_cast<int32_t>(word) : kNoWord;
    group.held[k % kLanes] = static_cast<int32_t>(pages - before);
  }
}

// Numbers the pages that the largest capacity holds 1, 2, ... in their order. The others miss
// everywhere, as if they had never been used. They get moment 0 as long as they are few: forgetting
// a page that comes back costs more than keeping it.
void MarkerList::number_anew() {
  const uint64_t oldest = std::max<uint64_t>(oldest_held(), 1);
  used_[oldest / kWordBits] &= ~uint64_t{0} << (oldest % kWordBits);
  before_.resize(used_.size());
  uint32_t pages = 0;
  for (size_t word = oldest / kWordBits; word < used_.size(); word++) {
    before_[word] = pages;
    pages += static_cast<uint32_t>(std::popcount(used_[word]));
  }
  const uint32_t out = index_.blocks() > kMostBlocks ? PageIndex::kAbsent : 0;
  index_.renumber([&](uint32_t moment) {
    if (moment < oldest)
      return out;
    const uint64_t later = used_[moment / kWordBits] << (kWordBits - 1 - moment % kWordBits);
    return before_[moment / kWordBits] + static_cast<uint32_t>(std::popcount(later));
  });
  place_markers(pages);
  now_ = uint64_t{pages} + 1;
  const uint64_t moments =
      now_ + std::max({kLeastMoments, kMomentsAPage * pages,
                       std::min<uint64_t>(index_.known(), kMostMomentsToKnown)});
  used_.assign((moments + kWordBits - 1) / kWordBits, 0);
  std::fill_n(used_.begin(), now_ / kWordBits, ~uint64_t{0});
  used_[now_ / kWordBits] = (uint64_t{1} << (now_ % kWordBits)) - 1;
  used_[0] &= ~uint64_t{1}; // moments begin at 1
}

double MarkerList::misses(uint64_t capacity) const {
  const auto at = std::lower_bound(capacities_.begin(), capacities_.end(), capacity);
  if (at == capacities_.end() || *at != capacity)
    throw std::invalid_argument("the marker list does not count for this capacity");
  uint64_t sum = 0;
  for (size_t missed = static_cast<size_t>(at - capacities_.begin()) + 1; missed < missed_.size();
       missed++)
    sum += missed_[missed];
  return static_cast<double>(sum);
}

size_t MarkerList::memory_bytes() const {
  return used_.capacity() * sizeof(uint64_t) + before_.capacity() * sizeof(uint32_t) +
         index_.memory_bytes();
}

} // namespace smalloc::reuse
