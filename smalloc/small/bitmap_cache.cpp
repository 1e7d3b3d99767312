// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bitmap_cache.cpp moves the tops of the stacks from chunk to chunk. Chunks come in blocks, which
// stay until the thread ends.
#include "smalloc/small/bitmap_cache.h"

namespace smalloc {

void *BitmapCache::pop_at_edge(unsigned n) {
  void **top = top_[n];
  if (!top)
    return nullptr;
  if (place(top) == 1) { // the chunk is empty
    void **const chunk = top - 1, **const below = static_cast<void **>(*chunk);
    if (!below)
      return nullptr;
    *chunk = unused_;
    unused_ = chunk;
    top = below + kSlots;
  }
  top_[n] = top - 1;
  granules_ -= charge(n);
  return top[-1];
}

void *BitmapCache::pop_about(unsigned n) {
  const unsigned most = min_of(n + n / 16, kMostGranules);
  for (; n <= most; n++)
    if (void *p = pop(n))
      return p;
  return nullptr;
}

bool BitmapCache::put_into_next(unsigned n, void *object) {
  if (!unused_)
    return false;
  void **const chunk = unused_, **const top = top_[n];
  unused_ = static_cast<void **>(*chunk);
  *chunk = top ? top - kSlots : nullptr;
  chunk[1] = object;
  top_[n] = chunk + 2;
  granules_ += charge(n);
  return true;
}

void BitmapCache::add_block(void *memory) {
  auto **block = static_cast<void **>(memory);
  *block = blocks_;
  blocks_ = block;
  for (size_t k = kBlockBytes / kChunkBytes; k-- > 1;) {
    void **const chunk = block + k * kSlots;
    *chunk = unused_;
    unused_ = chunk;
  }
}

void *BitmapCache::remove_block() {
  unused_ = nullptr;
  void **const block = blocks_;
  if (block)
    blocks_ = static_cast<void **>(*block);
  return block;
}

} // namespace smalloc
