//===- BlockList.h - a list whose elements never move -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holds PointerOrigins' nodes, of which there are tens of thousands, in blocks of 128. An element's
// address stays valid while the list grows. libstdc++'s std::deque has blocks of 512 bytes, which
// hold two nodes each, so it would allocate for every second node.
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
