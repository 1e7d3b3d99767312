// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bitmap_span.h divides 256 KiB among objects of different sizes. Two bits describe each granule of
// 16 bytes: it is in use, and it is the last one of an object. A freed object clears its bits, so
// it joins free neighbours without a search. An object has no header: its size is the distance to
// the next end bit.
#ifndef SMALLOC_SMALL_BITMAP_SPAN_H
#define SMALLOC_SMALL_BITMAP_SPAN_H

#include <atomic>
#include <stddef.h>
#include <stdint.h>

namespace smalloc {

/// The bitmaps and list links at the start of a span. It is placed at a multiple of kBytes. All
/// functions but granules_of() need the lock of the heap that owns the span.
class BitmapSpan {
public:
  static constexpr size_t kBytes = size_t{256} << 10, kGranuleBytes = 16;
  static constexpr unsigned kGranules = kBytes / kGranuleBytes;

  /// Returns the span of an object.
  static BitmapSpan *of(const void *p) {
    return reinterpret_cast<BitmapSpan *>(reinterpret_cast<uintptr_t>(p) & ~(kBytes - 1));
  }
  /// Makes all granules free. The memory may hold anything before.
  void init();
  /// Returns the size of the live object at `p`; 0: no object ends behind `p`. Needs no lock: the
  /// end bit of a live object does not change.
  unsigned granules_of(const void *p) const;

  /// Allocates up to `most` objects of `n` granules, and stores them in `objects`. Returns how
  /// many. O(kGranules) at worst; starts where the last search ended.
  unsigned take(unsigned n, unsigned most, void **objects);
  /// Frees the object at `p`. False: no live object starts there.
  bool give(const void *p);
  /// Changes the size of the object at `p` in place. False: the granules behind it are in use.
  bool resize(const void *p, unsigned granules);

  unsigned free_granules() const { return free_; }
  bool is_empty() const { return free_ == kGranules - kFirst; }
  /// The length of the longest free run, or more. Less if only kWorthASearch granules were freed
  /// since a search found no longer run: the next search would hardly find an object.
  unsigned longest() const { return longest_; }
  static constexpr unsigned kWorthASearch = kGranules / 64;

  /// Links of the heap's list.
  BitmapSpan *next, *previous;
  unsigned list; ///< the list that the span is in

private:
  static constexpr unsigned kWords = kGranules / 64;
  /// Interleaved, so that one cache line tells all about 4 KiB.
  struct Word {
    std::atomic<uint64_t> used, ends;
  };
  static unsigned granule(const void *p) {
    return static_cast<unsigned>(reinterpret_cast<uintptr_t>(p) % kBytes / kGranuleBytes);
  }
  void *address(unsigned g) { return reinterpret_cast<char *>(this) + g * kGranuleBytes; }
  bool used(unsigned g) const {
    return words_[g / 64].used.load(std::memory_order_relaxed) >> g % 64 & 1;
  }
  bool ends(unsigned g) const {
    return words_[g / 64].ends.load(std::memory_order_relaxed) >> g % 64 & 1;
  }
  unsigned next_free(unsigned g) const;
  unsigned next_used(unsigned g) const;
  unsigned run_start(unsigned g) const;
  void set_used(unsigned g, unsigned n, bool in_use);
  void set_end(unsigned g, bool is_end);
  bool starts_object(unsigned g) const;
  void note_freed(unsigned n, unsigned run);

  unsigned free_, longest_;
  unsigned freed_, longest_freed_; ///< granules freed since, and the longest run with one of them
  unsigned cursor_;                ///< granule where the last search ended
  uint64_t full_[kWords / 64];     ///< bit per word: no granule is free
  Word words_[kWords];
  static const unsigned kFirst; ///< the first granule behind this header
};

inline unsigned BitmapSpan::granules_of(const void *p) const {
  const unsigned g = granule(p);
  unsigned i = g / 64;
  uint64_t found = words_[i].ends.load(std::memory_order_relaxed) >> g % 64;
  if (found)
    return static_cast<unsigned>(__builtin_ctzll(found)) + 1;
  while (++i < kWords)
    if ((found = words_[i].ends.load(std::memory_order_relaxed)))
      return i * 64 + static_cast<unsigned>(__builtin_ctzll(found)) + 1 - g;
  return 0;
}

} // namespace smalloc
#endif
