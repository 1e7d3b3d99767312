// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_index.cpp implements the table of blocks. It probes linearly and doubles when half full.
// Erasing closes the gap by moving later entries back, so that no tombstones gather.
#include "runtime/reuse/page_index.h"

#include <bit>

namespace smalloc::reuse {

uint32_t PageIndex::leaf_of(uint64_t block) {
  if (const uint32_t known = find(block, home(block)); known != kAbsent)
    return known;
  if (2 * (blocks_ + 1) > slots_.size())
    rehash(std::vector<Slot>(slots_.size() * 2));
  size_t i = home(block);
  while (slots_[i].leaf != kAbsent)
    i = (i + 1) & (slots_.size() - 1);
  uint32_t leaf;
  if (free_.empty()) {
    leaf = static_cast<uint32_t>(leaves_.size());
    leaves_.emplace_back();
  } else {
    leaf = free_.back();
    free_.pop_back();
  }
  std::fill(std::begin(leaves_[leaf].number), std::end(leaves_[leaf].number), kAbsent);
  slots_[i] = {block, leaf};
  blocks_++;
  return leaf;
}

// Inserts the old table's entries that have a leaf into `slots`, the new table.
void PageIndex::rehash(std::vector<Slot> slots) {
  slots.swap(slots_);
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(slots_.size()));
  for (const Slot &slot : slots) {
    if (slot.leaf == kAbsent)
      continue;
    size_t i = home(slot.block);
    while (slots_[i].leaf != kAbsent)
      i = (i + 1) & (slots_.size() - 1);
    slots_[i] = slot;
  }
}

void PageIndex::drop(const std::vector<bool> &empty) {
  for (Slot &slot : slots_)
    if (slot.leaf != kAbsent && empty[slot.leaf]) {
      free_.push_back(slot.leaf);
      slot.leaf = kAbsent;
      blocks_--;
    }
  last_leaf_ = kAbsent;
  rehash(std::vector<Slot>(std::max(kFirstSlots, std::bit_ceil(2 * (blocks_ + 1)))));
}

void PageIndex::erase(uint64_t page) {
  uint32_t &number = at(page);
  number = kAbsent;
  const uint32_t leaf = last_leaf_;
  for (uint32_t n : leaves_[leaf].number)
    if (n != kAbsent)
      return;
  const size_t mask = slots_.size() - 1;
  size_t gap = home(last_block_);
  while (slots_[gap].leaf != leaf)
    gap = (gap + 1) & mask;
  for (size_t i = (gap + 1) & mask; slots_[i].leaf != kAbsent; i = (i + 1) & mask) {
    // An entry may move back to the gap unless its home slot lies between the two.
    if (((i - home(slots_[i].block)) & mask) >= ((i - gap) & mask)) {
      slots_[gap] = slots_[i];
      gap = i;
    }
  }
  slots_[gap] = {};
  free_.push_back(leaf);
  blocks_--;
  last_leaf_ = kAbsent;
}

} // namespace smalloc::reuse
