// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bitmap_heap.h serves small objects of sites whose request size is not constant, under heap:auto.
// Size classes keep freed objects apart by class, so a program whose sizes drift from 112 to 176
// bytes takes 1.3 times the memory. Here a freed object joins its free neighbours (BitmapSpan). The
// heap serves the main thread only, most calls from that thread's cache; any thread may free its
// objects. The spans are large objects of the private jemalloc, so its arenas share their
// superpages with the size classes.
#ifndef SMALLOC_SMALL_BITMAP_HEAP_H
#define SMALLOC_SMALL_BITMAP_HEAP_H

#include "smalloc/base/folded.h"
#include "smalloc/base/spin_lock.h"
#include "smalloc/pages/region.h"
#include "smalloc/small/bitmap_cache.h"

namespace smalloc {

/// The heap. Thread-safe. Only the main thread has a cache.
class BitmapHeap {
public:
  static constexpr size_t kMostBytes = 8192;

  /// Stores the table of spans. False: no memory for it; the heap then serves nothing.
  /// `main_bytes`: the part of the region that the private jemalloc's arenas take extents from.
  bool start(Region &region, size_t main_bytes);
  /// Lets allocate() serve: the small heap, which the spans come from, has started.
  void open() {
    if (can_open())
      open_.store(true);
    if (closed_.load()) // close() may have run in between
      open_.store(false);
  }
  /// Ends allocation for good: a free of the process does not know the objects.
  void close() {
    closed_.store(true);
    open_.store(false);
  }
  bool is_open() const { return folded(open_); }
  /// False: start() has not run, or has failed.
  bool can_open() const { return folded(covered_bytes_) != 0; }
  /// True if `p`, `offset` bytes from the region's start, lies in a span.
  bool owns(size_t offset) const {
    return offset < folded(covered_bytes_) &&
           spans_[offset / BitmapSpan::kBytes].load(std::memory_order_relaxed);
  }
  /// Allocates `bytes`, aligned to 16, from the thread's cache. nullptr: allocate() may succeed.
  void *take_cached(size_t bytes) {
    BitmapCache *cache = t_cache;
    return SMALLOC_LIKELY(cache != nullptr) && SMALLOC_LIKELY(is_open())
               ? cache->pop_fast(granules(bytes))
               : nullptr;
  }
  /// Allocates `bytes`, aligned to 16. nullptr: the heap does not run, has no memory, or the
  /// calling thread is not the main one. REQUIRES: 0 < bytes <= kMostBytes.
  void *allocate(size_t bytes);
  /// Frees an object. REQUIRES: owns() its offset.
  void release(void *p) {
    const unsigned n = BitmapSpan::of(p)->granules_of(p);
    BitmapCache *cache = t_cache;
    if (SMALLOC_UNLIKELY(!cache) || SMALLOC_UNLIKELY(n - 1 >= BitmapCache::kMostGranules) ||
        SMALLOC_UNLIKELY(!cache->push_fast(n, p)))
      release_slowly(p, n);
  }
  /// Returns the object if it could be resized in place, else nullptr. REQUIRES: owns() its offset.
  void *resize(void *p, size_t bytes);
  size_t usable_bytes(const void *p) const {
    return BitmapSpan::of(p)->granules_of(p) * BitmapSpan::kGranuleBytes;
  }
  /// Returns the calling thread's cached objects, and unused spans to jemalloc.
  void trim();
  /// Stores the bytes of all spans, and of the objects in them. Cached objects count as live.
  void statistics(uint64_t &span_bytes, uint64_t &live_bytes);

  void lock_all() { lock_.lock(); }
  void unlock_all() { lock_.unlock(); }

private:
  /// Free runs by their length in granules: exactly up to kExact, then in steps of kStep. The last
  /// list has all runs that serve any object.
  static constexpr unsigned kExact = 128, kStep = 8,
                            kMostGranules = kMostBytes / BitmapSpan::kGranuleBytes,
                            kLists = kExact + (kMostGranules - kExact) / kStep + 1;
  static unsigned list_of(unsigned length) {
    return length <= kExact ? length : min_of(kExact + (length - kExact) / kStep, kLists - 1);
  }
  static unsigned granules(size_t bytes) {
    return static_cast<unsigned>((bytes + BitmapSpan::kGranuleBytes - 1) /
                                 BitmapSpan::kGranuleBytes);
  }
  /// Freed granules that are in no listed run serve no request. They are listed when a request
  /// finds more of them than this share of the live ones, within these bounds; and before the heap
  /// grows, if they are at least 1/kWorthListing of that.
  static constexpr unsigned kLiveShare = 64, kWorthListing = 4;
  static constexpr uint64_t kLeastUnlistedBytes = 64u << 10, kMostUnlistedBytes = 4u << 20;
  void *refill(BitmapCache *cache, unsigned n);
  static bool cache_object(BitmapCache &cache, unsigned n, void *p);
  void release_slowly(void *p, unsigned n);
  unsigned take(unsigned n, unsigned most, void **objects);
  FreeRun *find(unsigned n) const;
  bool grow();
  void set_span(BitmapSpan *span, bool is_span);
  void give(void *p, unsigned n, BitmapSpan *&unused);
  void list_unlisted(uint64_t least);
  uint64_t list_span(BitmapSpan *span);
  void remove_unlisted(BitmapSpan *span);
  void add_unlisted(BitmapSpan *span, unsigned n);
  void return_cached(BitmapCache &cache, uint32_t kept, BitmapSpan *&unused);
  /// Returns 1/`share` of the live granules, within these bounds in bytes.
  uint64_t share_of_live(unsigned share, uint64_t least, uint64_t most) const;
  void return_spans(BitmapSpan *unused);
  void insert(FreeRun *run, unsigned length);
  void remove(FreeRun *run, unsigned length);
  void remove_span(BitmapSpan *span, BitmapSpan *&unused);
  BitmapCache *make_cache();
  static void end_cache(void *cache);

  static __thread BitmapCache *t_cache __attribute__((tls_model("initial-exec")));
  Region *region_ = nullptr;
  std::atomic<uint8_t> *spans_ = nullptr; ///< by offset in the region: true for a span
  std::atomic<size_t> covered_bytes_{0};  ///< 0: does not run
  std::atomic<bool> open_{false}, closed_{false};
  SpinLock lock_;
  FreeRun *list_[kLists] = {};
  uint64_t filled_[(kLists + 63) / 64] = {}; ///< bit per list: not empty
  BitmapSpan *spare_ = nullptr;              ///< the one empty span that is kept
  BitmapSpan *unlisted_spans_ = nullptr;     ///< those with free granules in no listed run
  unsigned next_returned_ = 0;               ///< size that return_cached() has returned last
  uint64_t span_count_ = 0, listed_granules_ = 0, unlisted_granules_ = 0;
};
extern BitmapHeap g_bitmap_heap SMALLOC_NEAR;

} // namespace smalloc
#endif
