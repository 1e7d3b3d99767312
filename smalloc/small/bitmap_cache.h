// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bitmap_cache.h keeps the bitmap heap's free objects of one thread, in a stack for each size. The
// stacks hold addresses in chunks of their own memory. So neither a free nor the return of many
// objects reads or writes the objects, which may have left the processor's caches.
#ifndef SMALLOC_SMALL_BITMAP_CACHE_H
#define SMALLOC_SMALL_BITMAP_CACHE_H

#include "smalloc/small/bitmap_span.h"

namespace smalloc {

/// A cached object does not join its neighbours, serves hardly another size, and keeps its span.
/// So the bytes of all stacks have a limit, at which half of them are returned: 1/16 of the live
/// bytes, within bounds. It falls while a program frees all it has. In a heap of at most kFewSpans
/// spans it is at least kLeastOfFewSpans. With 1/64, replacing objects at random took three times
/// as long.
class BitmapCache {
public:
  static constexpr unsigned kMostGranules = 512; ///< of an object: 8 KiB
  static constexpr unsigned kMostBatch = 32, kBatchBytes = 4096;
  static constexpr unsigned kLiveShare = 16;
  static constexpr uint64_t kLeastBytes = 4u << 10, kLeastOfFewSpans = 512u << 10, kFewSpans = 32,
                            kMostBytes = 1u << 20;

  /// Returns an object of `n` granules; nullptr: pop() may have one.
  void *pop_fast(unsigned n) {
    void **const top = top_[n];
    // place() is 1 in an empty chunk. It is 0 behind a full chunk, and also if there is none:
    // pop_at_edge() distinguishes these two.
    if (SMALLOC_UNLIKELY(place(top) <= 1))
      return nullptr;
    top_[n] = top - 1;
    granules_ -= charge(n);
    return top[-1];
  }
  /// Returns an object of `n` granules; nullptr: the stack is empty.
  void *pop(unsigned n) {
    void *p = pop_fast(n);
    return SMALLOC_LIKELY(p != nullptr) ? p : pop_at_edge(n);
  }
  /// Returns an object of `n` granules or up to 1/16 more; nullptr: the cache has none. Of many
  /// sizes the cache rarely has the one that is wanted, and a search in the free runs takes as long
  /// as ten requests.
  void *pop_about(unsigned n);
  /// Adds an object of `n` granules. False: the limit is reached, or add() may need a block.
  bool push_fast(unsigned n, void *object) { return !is_full(n) && put(n, object); }
  /// Adds an object of `n` granules, whatever the limit. False: add_block() has to come first.
  bool add(unsigned n, void *object) { return put(n, object) || put_into_next(n, object); }
  /// True if another object of `n` granules exceeds the limit.
  bool is_full(unsigned n) const { return granules_ + charge(n) > most_granules_; }
  /// Returns the granules that all objects count for.
  uint32_t charged() const { return granules_; }
  void set_limit(uint32_t granules) { most_granules_ = granules; }
  /// True if the size has a stack, which may be empty.
  bool has(unsigned n) const { return top_[n] != nullptr; }

  /// Returns how many objects the next refill takes. Each refill doubles it, each return of all
  /// the size's objects halves it.
  unsigned batch(unsigned n) const { return batch_less_one_[n] + 1u; }
  void double_batch(unsigned n) {
    const unsigned fit = kBatchBytes / static_cast<unsigned>(BitmapSpan::kGranuleBytes) / n,
                   least = fit ? fit : 1, most = least > kMostBatch ? kMostBatch : least,
                   twice = 2 * batch(n);
    batch_less_one_[n] = static_cast<uint8_t>((twice < most ? twice : most) - 1);
  }
  void halve_batch(unsigned n) { batch_less_one_[n] /= 2; }

  /// Takes memory for addresses: kBlockBytes at a multiple of kChunkBytes.
  void add_block(void *memory);
  /// Returns the memory of a block. nullptr: there is none. Precondition: all stacks are empty.
  void *remove_block();
  static constexpr size_t kChunkBytes = 512, kBlockBytes = 4096;

private:
  /// Slot 0 of a chunk holds the chunk below, the others objects. A stack's top is the slot behind
  /// its last object: 1 in an empty chunk, and the end of a full one. An empty stack keeps a chunk.
  static constexpr unsigned kSlots = kChunkBytes / sizeof(void *);
  static unsigned place(void **top) {
    return static_cast<unsigned>(reinterpret_cast<uintptr_t>(top) / sizeof(void *) % kSlots);
  }
  /// Returns the granules that an object counts for: its own, and one for its address.
  static uint32_t charge(unsigned n) { return n + 1; }
  void *pop_at_edge(unsigned n);
  bool put(unsigned n, void *object) {
    void **const top = top_[n];
    if (SMALLOC_UNLIKELY(place(top) == 0))
      return false;
    *top = object;
    top_[n] = top + 1;
    granules_ += charge(n);
    return true;
  }
  bool put_into_next(unsigned n, void *object);

  void **top_[kMostGranules + 1];     ///< nullptr: no chunk
  uint32_t granules_, most_granules_; ///< charged for all stacks, and the limit
  void **unused_;                     ///< chunks in no stack, linked through slot 0
  void **blocks_; ///< linked through slot 0 of their first chunk, which is in no stack
  uint8_t batch_less_one_[kMostGranules + 1];
};

} // namespace smalloc
#endif
