// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// distance_counter.cpp compacts the moments when none is left. It doubles their number if more than
// half of them are in use.
#include "runtime/reuse/distance_counter.h"

namespace smalloc::reuse {
namespace {
constexpr uint32_t kFirstMoments = 1u << 14;
constexpr size_t kAhead = 12; // accesses between a table entry's prefetch and its use
} // namespace

DistanceCounter::DistanceCounter()
    : bits_(kFirstMoments / 64), page_(kFirstMoments), fenwick_(kFirstMoments / kBlockBits + 1) {}

// Returns the number of bits set after `time`, which is set itself.
uint32_t DistanceCounter::live_after(uint32_t time) const {
  const uint32_t block = time >> kBlockShift;
  const uint32_t last_word = ((block + 1) << (kBlockShift - 6)) - 1;
  uint32_t word = time >> 6;
  uint32_t count = static_cast<uint32_t>(__builtin_popcountll(bits_[word] >> (time & 63) >> 1));
  while (word++ < last_word)
    count += static_cast<uint32_t>(__builtin_popcountll(bits_[word]));
  if (block == now_ >> kBlockShift)
    return count;
  uint32_t up_to = 0; // sum over the blocks 0 to `block`
  for (uint32_t i = block + 1; i > 0; i &= i - 1)
    up_to += fenwick_[i];
  return count + static_cast<uint32_t>(live_) - up_to;
}

void DistanceCounter::take_away(uint32_t time) {
  bits_[time >> 6] &= ~(uint64_t{1} << (time & 63));
  const uint32_t block = time >> kBlockShift;
  if (block == now_ >> kBlockShift) {
    open_--;
    return;
  }
  for (uint32_t i = block + 1; i < fenwick_.size(); i += i & (0 - i))
    fenwick_[i]--;
}

// Adds the block before now_, which is full, to the tree.
void DistanceCounter::close_block() {
  for (uint32_t i = now_ >> kBlockShift; i < fenwick_.size(); i += i & (0 - i))
    fenwick_[i] += open_;
  open_ = 0;
}

void DistanceCounter::compact() {
  const size_t moments = page_.size();
  uint32_t to = 0;
  for (size_t word = 0; word < bits_.size(); word++) {
    for (uint64_t left = bits_[word]; left; left &= left - 1) {
      const uint64_t page = page_[word * 64 + static_cast<size_t>(__builtin_ctzll(left))];
      page_[to] = page;
      index_.at(page) = to++;
    }
  }
  const size_t wanted = uint64_t{to} * 2 > moments ? moments * 2 : moments;
  page_.resize(wanted);
  bits_.assign(wanted / 64, 0);
  fenwick_.assign(wanted / kBlockBits + 1, 0);
  for (uint32_t t = 0; t < to; t++)
    bits_[t >> 6] |= uint64_t{1} << (t & 63);
  const uint32_t whole = to >> kBlockShift;
  for (now_ = kBlockBits; now_ >> kBlockShift <= whole; now_ += kBlockBits) {
    open_ = kBlockBits;
    close_block();
  }
  open_ = to & (kBlockBits - 1);
  now_ = to;
}

// Records a use of the page at the current moment, which it stores in `last`.
void DistanceCounter::put(uint32_t &last, uint64_t page) {
  last = now_;
  last_page_ = page;
  bits_[now_ >> 6] |= uint64_t{1} << (now_ & 63);
  page_[now_] = page;
  open_++;
  if ((++now_ & (kBlockBits - 1)) == 0)
    close_block();
}

uint64_t DistanceCounter::distance_of(uint64_t page) {
  if (now_ == page_.size())
    compact();
  uint32_t &last = index_.at(page);
  uint64_t distance = kCold;
  if (last != PageIndex::kAbsent) {
    distance = live_after(last);
    take_away(last);
  } else {
    live_++;
  }
  put(last, page);
  return distance;
}

bool DistanceCounter::use(uint64_t page) {
  if (now_ == page_.size())
    compact();
  uint32_t &last = index_.at(page);
  const bool first = last == PageIndex::kAbsent;
  if (first)
    live_++;
  else
    take_away(last);
  put(last, page);
  return first;
}

void DistanceCounter::forget(uint64_t page) {
  const uint32_t last = index_.at(page);
  if (last != PageIndex::kAbsent) {
    take_away(last);
    live_--;
  }
  index_.erase(page);
  if (page == last_page_)
    last_page_ = UINT64_MAX;
}

void DistanceCounter::access(std::span<const uint64_t> pages) {
  accesses_ += pages.size();
  const size_t ahead = pages.size() > kAhead ? pages.size() - kAhead : 0;
  uint64_t repeats = 0;
  for (size_t i = 0; i < pages.size(); i++) {
    if (i < ahead)
      index_.prefetch(pages[i + kAhead]);
    const uint64_t page = pages[i];
    if (page == last_page_) {
      repeats++;
      continue;
    }
    const uint64_t distance = distance_of(page);
    if (distance == kCold)
      histogram_.add_cold();
    else
      histogram_.add(distance);
  }
  if (repeats)
    histogram_.add(0, static_cast<double>(repeats));
}

size_t DistanceCounter::memory_bytes() const {
  return index_.memory_bytes() + bits_.capacity() * sizeof(uint64_t) +
         page_.capacity() * sizeof(uint64_t) + fenwick_.capacity() * sizeof(uint32_t) +
         histogram_.memory_bytes();
}

} // namespace smalloc::reuse
