// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// marker_list.cpp decides how the markers follow the list: when a page comes to the front from behind a marker, one more bit is set
// behind the marker's word; as soon as these alone are as many as the capacity, the marker is in the next word.
#include "runtime/reuse/marker_list.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace smalloc::reuse {
namespace {
constexpr size_t kMostCapacities = 250;
constexpr uint64_t kMostPages = uint64_t{1} << 30; // moments have 32 bits
constexpr uint64_t kWordBits = 64;
constexpr size_t kMostBlocks = 1 << 17; // of pages that are known, beyond those that are held
constexpr uint64_t kMomentsAPage =
    4; // before they are numbered anew: the more, the less an access pays for it
} // namespace

MarkerList::MarkerList(std::vector<uint64_t> capacities) : capacities_(std::move(capacities)) {
  std::sort(capacities_.begin(), capacities_.end());
  capacities_.erase(std::unique(capacities_.begin(), capacities_.end()), capacities_.end());
  if (capacities_.empty() || capacities_.size() > kMostCapacities)
    throw std::invalid_argument("a marker list needs 1 to 250 capacities");
  if (capacities_.front() == 0 || capacities_.back() > kMostPages)
    throw std::invalid_argument("a capacity must be between 1 and 2^30 pages");
  const size_t lanes = (capacities_.size() + kLanes - 1) / kLanes * kLanes;
  word_.assign(lanes, INT32_MIN);
  held_.assign(lanes, 0);
  most_.assign(lanes, INT32_MAX);
  std::fill_n(word_.begin(), capacities_.size(), kNoWord);
  std::copy(capacities_.begin(), capacities_.end(), most_.begin());
  missed_.resize(capacities_.size() + 1);
  used_.resize(kLeastMoments / kWordBits);
}

// A page that was last used in word `from`, or never (kNoWord), is used now; its bit is cleared, and `later` are the word's bits
// behind it. Returns how many capacities miss.
size_t MarkerList::use(int32_t from, uint64_t later) {
  const auto to = static_cast<int32_t>(now_ / kWordBits);
  used_[now_ / kWordBits] |= uint64_t{1} << (now_ % kWordBits);
  now_++;
  int32_t missed = 0, here = 0, due = 0;
  for (size_t group = 0; group < word_.size(); group += kLanes)
    for (size_t k = group; k < group + kLanes; k++) {
      const int32_t word = word_[k];
      const int32_t held = held_[k] + ((from <= word) & (word < to));
      held_[k] = held;
      missed += from < word;
      here |= from == word;
      due |= held >= most_[k];
    }
  if (here && from != kNoWord)
    for (size_t k = 0; k < capacities_.size(); k++)
      missed += word_[k] == from && held_[k] - (from < to) + std::popcount(later) >= most_[k];
  if (due)
    for (size_t k = 0; k < capacities_.size(); k++)
      while (held_[k] >= most_[k])
        held_[k] -= std::popcount(used_[static_cast<size_t>(++word_[k])]);
  return static_cast<size_t>(missed);
}

void MarkerList::touch(uint32_t &moment) {
  const uint64_t last = moment;
  if (last + 1 == now_) {
    missed_[0]++;
    return;
  }
  moment = static_cast<uint32_t>(now_);
  if (last == PageIndex::kAbsent ||
      last == 0) { // the latter is behind the last marker; no bit stands for it
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

// Moment of the last page that the largest capacity holds; 0: it holds them all.
uint64_t MarkerList::oldest_held() const {
  const size_t k = capacities_.size() - 1;
  if (word_[k] == kNoWord)
    return 0;
  uint64_t bits = used_[static_cast<size_t>(word_[k])];
  for (int32_t lower = held_[k] + std::popcount(bits) - most_[k]; lower > 0; lower--)
    bits &= bits - 1;
  return static_cast<uint64_t>(word_[k]) * kWordBits +
         static_cast<uint64_t>(std::countr_zero(bits));
}

// Where they are when the moments 1 to `pages` are all used.
void MarkerList::place_markers(uint64_t pages) {
  for (size_t k = 0; k < capacities_.size(); k++) {
    const bool marked = pages >= capacities_[k];
    const uint64_t word = marked ? (pages - capacities_[k] + 1) / kWordBits : 0;
    const uint64_t before = marked ? std::min(pages, (word + 1) * kWordBits - 1) : 0;
    word_[k] = marked ? static_cast<int32_t>(word) : kNoWord;
    held_[k] = static_cast<int32_t>(pages - before);
  }
}

// The pages that the largest capacity holds get the moments 1, 2, ... in their order. The others miss everywhere, as if they had
// never been used; they get moment 0, because forgetting a page that comes back costs more than keeping it, as long as they are few.
void MarkerList::number_anew() {
  const uint64_t oldest = oldest_held();
  used_[oldest / kWordBits] &= ~uint64_t{0} << (oldest % kWordBits);
  anew_.resize(used_.size() * kWordBits);
  uint32_t pages = 0;
  for (size_t word = oldest / kWordBits; word < used_.size(); word++)
    for (uint64_t bits = used_[word]; bits != 0; bits &= bits - 1)
      anew_[word * kWordBits + static_cast<uint64_t>(std::countr_zero(bits))] = ++pages;
  const uint32_t out = index_.blocks() > kMostBlocks ? PageIndex::kAbsent : 0;
  index_.renumber([&](uint32_t moment) { return moment < oldest ? out : anew_[moment]; });
  place_markers(pages);
  now_ = uint64_t{pages} + 1;
  const uint64_t moments = now_ + std::max(kLeastMoments, kMomentsAPage * pages);
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
  return used_.capacity() * sizeof(uint64_t) + anew_.capacity() * sizeof(uint32_t) +
         index_.memory_bytes();
}

} // namespace smalloc::reuse
