// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bitmap_span.h describes 256 KiB that are divided among objects of different sizes. Two bits tell
// of each granule of 16 bytes if it is in use, and if it is the last one of an object. So an object
// has no header: its size is the distance to the next end bit. A free run keeps its length and its
// list links in its own memory.
#ifndef SMALLOC_SMALL_BITMAP_SPAN_H
#define SMALLOC_SMALL_BITMAP_SPAN_H

#include <atomic>
#include <stddef.h>
#include <stdint.h>

namespace smalloc {

/// The start of a run of free granules. A run of one granule has no length.
struct FreeRun {
  FreeRun *next, *previous;
  uint64_t length;
};

/// The bitmaps at the start of a span, which lies at a multiple of kBytes. All functions but
/// granules_of() need the lock of the heap that owns the span.
class BitmapSpan {
public:
  static constexpr size_t kBytes = size_t{256} << 10, kGranuleBytes = 16;
  static constexpr unsigned kGranules = kBytes / kGranuleBytes;

  /// Returns the span of an object or of a free run.
  static BitmapSpan *of(const void *p) {
    return reinterpret_cast<BitmapSpan *>(reinterpret_cast<uintptr_t>(p) & ~(kBytes - 1));
  }
  /// Makes all granules free. The memory may hold anything before. Returns the run, which is in no
  /// list yet.
  FreeRun *init();
  /// Returns the size of the live object at `p`; 0: no object ends behind `p`. Needs no lock: the
  /// end bit of a live object does not change.
  unsigned granules_of(const void *p) const;
  /// True if a live object starts at `p`.
  bool starts_object(const void *p) const;

  /// The free run directly in front of `p`, or behind it; nullptr: there is none.
  FreeRun *run_before(const void *p);
  FreeRun *run_at(void *p);
  /// The run behind the header. REQUIRES: is_empty().
  FreeRun *first_run() { return static_cast<FreeRun *>(address(kFirst)); }
  static unsigned length_of(const FreeRun *run);
  /// Makes `length` granules a free run. They keep their bits.
  static FreeRun *write_run(void *at, unsigned length);
  /// Marks `count` objects of `n` granules at `p`, or frees the object at `p`.
  void mark_objects(void *p, unsigned n, unsigned count);
  void clear_object(void *p, unsigned n);
  /// Moves the end of the object at `p`, and marks what it gains or loses.
  void move_end(void *p, unsigned had, unsigned n);

  unsigned free_granules() const { return free_; }
  bool is_empty() const { return free_ == kGranules - kFirst; }

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
  void set_used(unsigned g, unsigned n, bool in_use);
  void set_end(unsigned g, bool is_end);

  unsigned free_;
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
