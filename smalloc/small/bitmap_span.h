// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bitmap_span.h describes 256 KiB that are divided among objects of different sizes. Two bits tell
// the state of each granule of 16 bytes: in an object; an object's last one; free; free and in a
// listed run. So an object has no header: its size is the distance to the next `ends` bit. A listed
// run keeps its length and its list links in its own memory. A freed object is not read or written.
//
// The bits fill a page. If each lay at the start of its span, all would compete for the same 1/16
// of the sets of an L2 cache of 1 MiB. So their place in the span differs from span to span.
#ifndef SMALLOC_SMALL_BITMAP_SPAN_H
#define SMALLOC_SMALL_BITMAP_SPAN_H

#include "smalloc/base/units.h"

#include <atomic>
#include <stddef.h>
#include <stdint.h>

namespace smalloc {

/// The start of a listed run of free granules. A run of one granule has no length.
struct FreeRun {
  FreeRun *next, *previous;
  uint64_t length;
};

/// The bitmaps in a span, which lies at a multiple of kBytes. All functions but granules_of() need
/// the lock of the heap that owns the span.
class BitmapSpan {
public:
  static constexpr size_t kBytes = size_t{256} << 10, kGranuleBytes = 16;
  static constexpr unsigned kGranules = kBytes / kGranuleBytes, kLineGranules = 64 / kGranuleBytes;

  /// Returns the span of an object or of a free run.
  static BitmapSpan *of(const void *p) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(p), start = at & ~(kBytes - 1);
    return reinterpret_cast<BitmapSpan *>(start + at / kBytes % kPlaces * kPlaceBytes);
  }
  char *start() {
    return reinterpret_cast<char *>(reinterpret_cast<uintptr_t>(this) & ~(kBytes - 1));
  }
  /// Makes all granules free; none is in a listed run. The memory may hold anything before.
  void init();
  /// Returns the size of the live object at `p`; 0: no object ends behind `p`. Needs no lock: the
  /// bits of a live object do not change.
  unsigned granules_of(const void *p) const;
  /// True if a live object starts at `p`.
  bool starts_object(const void *p) const;

  static unsigned length_of(const FreeRun *run);
  /// Returns the granules from `run` on that have to stay free in front of objects of `n` granules,
  /// which lie one behind the other. From there on they cross as few cache lines as possible: the
  /// place is a multiple of the largest power of two that divides their size, at most a line.
  static unsigned before_aligned(const FreeRun *run, unsigned n) {
    const unsigned unit = min_of(n & (0u - n), kLineGranules);
    return (0u - granule(run)) & (unit - 1);
  }
  /// Return the listed run that ends directly in front of `p`, or that begins at `p`; nullptr:
  /// there is none.
  FreeRun *run_before(const void *p);
  FreeRun *run_at(void *p);
  /// Makes `length` free granules a listed run. Returns the run, which the caller adds to its list.
  FreeRun *list_run(void *at, unsigned length);
  /// Marks `count` objects of `n` granules at the start of a listed run, which the caller has
  /// removed from its list. Returns the run of what is left; nullptr: nothing is.
  FreeRun *take(FreeRun *run, unsigned length, unsigned n, unsigned count);
  /// Frees the object at `p`. Its granules are in no listed run.
  void free_object(void *p, unsigned n);
  /// Joins the object at `p`, of `n` granules, with the object behind it.
  void join_objects(void *p, unsigned n);
  /// Frees all but the first `n` of the object's granules. They are in no listed run.
  void free_end(void *p, unsigned had, unsigned n);

  /// Return the first free granules in the order of addresses, from granule `from` on:
  /// next_unlisted() those that are in no listed run, next_run() those that are in one. Store their
  /// number in `length` (0: there are none), and in `from` the first granule behind them.
  void *next_unlisted(unsigned &from, unsigned &length) { return next_free(from, length, false); }
  FreeRun *next_run(unsigned &from, unsigned &length) {
    return static_cast<FreeRun *>(next_free(from, length, true));
  }
  /// Records that all free granules are in listed runs.
  void all_listed();

  unsigned free_granules() const { return free_; }
  bool is_empty() const { return free_ == kGranules - kHeader; }

  /// The heap's list of spans with free granules that are in no listed run.
  BitmapSpan *next_unlisted_span, *previous_unlisted_span;
  bool in_unlisted_list;

private:
  static constexpr unsigned kWords = kGranules / 64;
  /// The bitmaps' places in a span: one after the other for neighbouring spans, over 128 KiB. That
  /// is a way of a 2 MiB L2 cache, and twice that of a 1 MiB one.
  static constexpr size_t kPlaces = 32, kPlaceBytes = 4096;
  /// Interleaved, so that one cache line tells all about 4 KiB. A free granule is in a listed run
  /// if its `ends` bit is set.
  struct Word {
    std::atomic<uint64_t> used, ends;
  };
  static unsigned granule(const void *p) {
    return static_cast<unsigned>(reinterpret_cast<uintptr_t>(p) % kBytes / kGranuleBytes);
  }
  void *address(unsigned g) { return start() + g * kGranuleBytes; }
  bool used(unsigned g) const {
    return words_[g / 64].used.load(std::memory_order_relaxed) >> g % 64 & 1;
  }
  bool ends(unsigned g) const {
    return words_[g / 64].ends.load(std::memory_order_relaxed) >> g % 64 & 1;
  }
  bool listed(unsigned g) const { return !used(g) && ends(g); }
  void set(unsigned g, unsigned n, bool used, bool ends);
  void set_end(unsigned g, bool is_end);
  static FreeRun *write_run(void *at, unsigned length);
  uint64_t free_bits(unsigned word, bool in_run) const;
  unsigned count_free(unsigned g, bool in_run) const;
  unsigned next_word(unsigned word, bool in_run) const;
  void *next_free(unsigned &from, unsigned &length, bool in_run);
  void note_unlisted(unsigned g, unsigned n);

  unsigned free_;
  /// Bit per word: granules in it may be free and in no listed run.
  uint64_t unlisted_words_[kWords / 64];
  Word words_[kWords];
  static const unsigned kHeader; ///< granules of this object
};

inline unsigned BitmapSpan::granules_of(const void *p) const {
  const unsigned g = granule(p), shift = g % 64;
  unsigned i = g / 64;
  // The next 64 granules, of two words: most objects end there, and a processor that had to predict
  // in which of them would often be wrong. An object in the last word ends in it.
  const unsigned next = i + 1 < kWords ? i + 1 : i;
  uint64_t found = words_[i].ends.load(std::memory_order_relaxed) >> shift |
                   words_[next].ends.load(std::memory_order_relaxed) << 1 << (63 - shift);
  if (SMALLOC_LIKELY(found != 0))
    return static_cast<unsigned>(__builtin_ctzll(found)) + 1;
  while (++i < kWords)
    if ((found = words_[i].ends.load(std::memory_order_relaxed)))
      return i * 64 + static_cast<unsigned>(__builtin_ctzll(found)) + 1 - g;
  return 0;
}

} // namespace smalloc
#endif
