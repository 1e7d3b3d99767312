// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_index.h maps page numbers to small dense numbers. It is an open-addressed table of blocks of
// 16 neighbouring pages, each block one cache line of numbers: pages that are used together mostly
// lie together.
//
// Find and insert: O(1) expected. Memory: 96 to 128 bytes a block, besides what the vector of
// blocks has reserved and not touched yet. So a page takes 6 to 8 bytes where pages are dense, and
// at most 128 where each lies alone.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace smalloc::reuse {

/// Spreads neighbouring numbers by a bijection of 64 bits (the finaliser of MurmurHash3).
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

  /// Returns the place where the number of `page` is kept; kAbsent if it has none yet. The caller
  /// may store a number there. Valid until the next call.
  uint32_t &at(uint64_t page) {
    const uint64_t block = page >> kBlockShift;
    if (block != last_block_ || last_leaf_ == kAbsent) {
      last_leaf_ = leaf_of(block);
      last_block_ = block;
    }
    return leaves_[last_leaf_].number[page & (kBlockPages - 1)];
  }
  /// Prefetches the table's line for `page`; changes nothing.
  void prefetch(uint64_t page) const { __builtin_prefetch(&slots_[home(page >> kBlockShift)]); }
  /// Calls number(at(page)) for each of `pages` in their order, and prefetches the memory of the
  /// next ones. `number` must not use the index.
  template <class Number> void at_each(std::span<const uint64_t> pages, const Number &number) {
    for (; !pages.empty(); pages = pages.subspan(std::min(kTogether, pages.size()))) {
      const size_t n = std::min(kTogether, pages.size());
      size_t homes[kTogether];
      uint32_t leaves[kTogether];
      for (size_t i = 0; i < n; i++) {
        homes[i] = home(pages[i] >> kBlockShift);
        __builtin_prefetch(&slots_[homes[i]]);
      }
      for (size_t i = 0; i < n; i++) {
        leaves[i] = find(pages[i] >> kBlockShift, homes[i]);
        if (leaves[i] != kAbsent)
          __builtin_prefetch(&leaves_[leaves[i]], 1);
      }
      for (size_t i = 0; i < n; i++) {
        const uint32_t leaf = leaves[i] != kAbsent ? leaves[i] : leaf_of(pages[i] >> kBlockShift);
        number(leaves_[leaf].number[pages[i] & (kBlockPages - 1)]);
      }
    }
  }
  /// Replaces each number by anew(number); with kAbsent the page is forgotten. O(blocks).
  template <class Anew> void renumber(const Anew &anew) {
    std::vector<bool> empty(leaves_.size());
    size_t empties = 0;
    for (size_t leaf = 0; leaf < leaves_.size(); leaf++) {
      bool any = false;
      for (uint32_t &number : leaves_[leaf].number)
        if (number != kAbsent) {
          number = anew(number);
          any |= number != kAbsent;
        }
      empty[leaf] = !any;
      empties += !any;
    }
    if (empties - free_.size() > blocks_ / kEmptyOf)
      drop(empty);
  }
  /// Forgets a page. Its block goes with its last page.
  void erase(uint64_t page);

  size_t blocks() const { return blocks_; }              ///< of 16 pages
  size_t known() const { return blocks_ * kBlockPages; } ///< upper bound of the pages
  size_t memory_bytes() const {
    return slots_.size() * sizeof(Slot) + leaves_.capacity() * sizeof(Leaf) +
           free_.capacity() * sizeof(uint32_t);
  }

private:
  static constexpr unsigned kBlockShift = 4;
  static constexpr unsigned kBlockPages = 1u << kBlockShift;
  static constexpr size_t kFirstSlots = 64;
  static constexpr size_t kTogether = 32; // pages whose memory is prefetched together
  static constexpr size_t kEmptyOf = 4;   // at most one block in 4 may be empty
  struct Slot {
    uint64_t block = 0;
    uint32_t leaf = kAbsent;
  };
  struct alignas(64) Leaf {
    uint32_t number[kBlockPages];
  };

  uint32_t find(uint64_t block, size_t home) const {
    for (size_t i = home;; i = (i + 1) & (slots_.size() - 1))
      if (slots_[i].leaf == kAbsent || slots_[i].block == block)
        return slots_[i].leaf;
  }
  uint32_t leaf_of(uint64_t block);
  void drop(const std::vector<bool> &empty); // indexed by leaf
  void rehash(std::vector<Slot> slots);
  /// Returns the first slot of a block. The upper bits of a product are as good as mix() here, and
  /// ready sooner.
  size_t home(uint64_t block) const { return (block * 0x9e3779b97f4a7c15u) >> shift_; }

  std::vector<Slot> slots_; // a power of two, at most half full
  std::vector<Leaf> leaves_;
  std::vector<uint32_t> free_; // leaves without a page
  unsigned shift_ = 64 - static_cast<unsigned>(std::countr_zero(
                             kFirstSlots)); // the product's upper bits that remain number the slots
  size_t blocks_ = 0;
  uint64_t last_block_ = 0;
  uint32_t last_leaf_ = kAbsent;
};

} // namespace smalloc::reuse
