// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// marker_list.cpp decides how the markers follow the list: when a page comes to the front from behind a marker, the page at the
// marker falls out of that capacity, and the marker goes to the one used next after it.
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
  markers_.resize(capacities_.size());
  missed_.resize(capacities_.size() + 1);
  used_.resize(kLeastMoments / kWordBits);
}

// There is one: what is used now is marked before markers move.
uint64_t MarkerList::next_used(uint64_t after) const {
  size_t word = (after + 1) / kWordBits;
  uint64_t bits = used_[word] & (~uint64_t{0} << ((after + 1) % kWordBits));
  while (bits == 0)
    bits = used_[++word];
  return word * kWordBits + static_cast<uint64_t>(std::countr_zero(bits));
}

void MarkerList::first_touch(uint32_t &moment) {
  used_[now_ / kWordBits] |= uint64_t{1} << (now_ % kWordBits);
  missed_.back()++;
  for (size_t k = 0; k < marked_; k++)
    markers_[k] = next_used(markers_[k]);
  if (marked_ < capacities_.size() && ++pages_ == capacities_[marked_])
    markers_[marked_++] = next_used(0);
  moment = static_cast<uint32_t>(now_++);
}

void MarkerList::touch(uint32_t &moment) {
  const uint64_t last = moment; // 0: behind the last marker; no bit stands for it
  if (last + 1 == now_) {
    missed_[0]++;
    return;
  }
  used_[last / kWordBits] &= ~(uint64_t{1} << (last % kWordBits));
  used_[now_ / kWordBits] |= uint64_t{1} << (now_ % kWordBits);
  size_t missed = 0;
  for (; missed < marked_ && last < markers_[missed]; missed++)
    markers_[missed] = next_used(markers_[missed]);
  missed_[missed]++;
  if (missed < marked_ && markers_[missed] == last)
    markers_[missed] = next_used(last);
  moment = static_cast<uint32_t>(now_++);
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
    index_.at_each(some, [this](uint32_t &moment) {
      if (moment == PageIndex::kAbsent)
        first_touch(moment);
      else
        touch(moment);
    });
    pages = pages.subspan(some.size());
  }
}

// The pages that the largest capacity holds get the moments 1, 2, ... in their order. The others miss everywhere, as if they had
// never been used; they get moment 0, because forgetting a page that comes back costs more than keeping it, as long as they are few.
void MarkerList::number_anew() {
  const uint64_t oldest = marked_ == capacities_.size() ? markers_.back() : 0;
  used_[oldest / kWordBits] &= ~uint64_t{0} << (oldest % kWordBits);
  anew_.resize(used_.size() * kWordBits);
  uint32_t pages = 0;
  for (size_t word = oldest / kWordBits; word < used_.size(); word++)
    for (uint64_t bits = used_[word]; bits != 0; bits &= bits - 1)
      anew_[word * kWordBits + static_cast<uint64_t>(std::countr_zero(bits))] = ++pages;
  const uint32_t out = index_.blocks() > kMostBlocks ? PageIndex::kAbsent : 0;
  index_.renumber([&](uint32_t moment) { return moment < oldest ? out : anew_[moment]; });
  for (size_t k = 0; k < marked_; k++)
    markers_[k] = anew_[markers_[k]];
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
