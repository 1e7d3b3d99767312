// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_index.h decides how a page number becomes a small dense number: an open-addressed table of
// blocks of 16 neighbouring pages, each block one cache line of numbers, because pages that are
// used together mostly lie together.
//
// Find and insert O(1) expected. Memory: 96 to 128 bytes a block, so 6 to 8 bytes a page where pages are
// dense and at most 128 where each lies alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace smalloc::reuse {

/// A bijection of 64-bit numbers that spreads neighbours (the finaliser of MurmurHash3).
inline uint64_t mix(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  return x ^ (x >> 33);
}

class PageIndex {
public:
  static constexpr uint32_t kAbsent = UINT32_MAX;

  PageIndex() : slots_(kFirstSlots) {}

  /// Where the number of `page` is kept, kAbsent if it has none yet: the caller may store one there
  /// at once. Valid until the next call.
  uint32_t &at(uint64_t page) {
    const uint64_t block = page >> kBlockShift;
    if (block != last_block_ || last_leaf_ == kAbsent) {
      last_leaf_ = leaf_of(block);
      last_block_ = block;
    }
    return leaves_[last_leaf_].number[page & (kBlockPages - 1)];
  }
  /// Brings the table's line for `page` nearer; changes nothing.
  void prefetch(uint64_t page) const {
    __builtin_prefetch(&slots_[mix(page >> kBlockShift) & (slots_.size() - 1)]);
  }
  /// The number of `page` or kAbsent, adding nothing; to fetch in advance what it stands for.
  uint32_t peek(uint64_t page) const {
    const uint64_t block = page >> kBlockShift;
    for (size_t i = home(block);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].leaf == kAbsent)
        return kAbsent;
      if (slots_[i].block == block)
        return leaves_[slots_[i].leaf].number[page & (kBlockPages - 1)];
    }
  }
  /// Forgets a page; its block goes with its last page.
  void erase(uint64_t page);

  size_t memory_bytes() const {
    return slots_.size() * sizeof(Slot) + leaves_.capacity() * sizeof(Leaf) +
           free_.capacity() * sizeof(uint32_t);
  }

private:
  static constexpr unsigned kBlockShift = 4;
  static constexpr unsigned kBlockPages = 1u << kBlockShift;
  static constexpr size_t kFirstSlots = 64;
  struct Slot {
    uint64_t block = 0;
    uint32_t leaf = kAbsent;
  };
  struct alignas(64) Leaf {
    uint32_t number[kBlockPages];
  };

  uint32_t leaf_of(uint64_t block);
  void grow();
  size_t home(uint64_t block) const { return mix(block) & (slots_.size() - 1); }

  std::vector<Slot> slots_; // a power of two, at most half full
  std::vector<Leaf> leaves_;
  std::vector<uint32_t> free_; // leaves without a page
  size_t blocks_ = 0;
  uint64_t last_block_ = 0;
  uint32_t last_leaf_ = kAbsent;
};

} // namespace smalloc::reuse
