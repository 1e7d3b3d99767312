//===- BlockList.h - a list whose elements stay where they are --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how PointerOrigins holds what it has by the ten thousand: in blocks of 128, at addresses that stay while it grows. A
// std::deque has blocks of 512 bytes, two nodes each, so that it allocates for every other one.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_BLOCKLIST_H
#define SMALLOC_PASSES_BLOCKLIST_H

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace smalloc {

template <typename T> class BlockList {
  static constexpr size_t BlockSize = 128;
  std::vector<T *> Blocks;
  size_t Count = 0;

public:
  BlockList() = default;
  BlockList(const BlockList &) = delete;
  BlockList &operator=(const BlockList &) = delete;
  ~BlockList() { clear(); }

  size_t size() const { return Count; }
  T &operator[](size_t I) { return Blocks[I / BlockSize][I % BlockSize]; }
  const T &operator[](size_t I) const { return Blocks[I / BlockSize][I % BlockSize]; }

  T &emplace_back() {
    if (Count % BlockSize == 0)
      Blocks.push_back(std::allocator<T>().allocate(BlockSize));
    T *New = new (&(*this)[Count]) T();
    ++Count;
    return *New;
  }

  void clear() {
    for (size_t I = 0; I < Count; ++I)
      (*this)[I].~T();
    for (T *Block : Blocks)
      std::allocator<T>().deallocate(Block, BlockSize);
    Blocks.clear();
    Count = 0;
  }
};

} // namespace smalloc
#endif
