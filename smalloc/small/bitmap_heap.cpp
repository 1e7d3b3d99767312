// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bitmap_heap.cpp moves objects between threads' caches and spans. A request takes the span whose
// longest free run is just long enough, so that long runs stay for large objects and full spans
// fill up first. No call to jemalloc is made under the lock: at a fork jemalloc's locks are taken
// independently of this one.
#include "smalloc/small/bitmap_heap.h"

#include "smalloc/base/keep_errno.h"
#include "smalloc/small/small_heap.h"

#include <pthread.h>
#include <string.h>

namespace smalloc {

constinit BitmapHeap g_bitmap_heap;
__thread BitmapCache *BitmapHeap::t_cache;

namespace {
pthread_key_t g_cache_key;
/// This thread has no cache: it ends, or the system refused a thread-specific value.
__thread bool t_without_cache __attribute__((tls_model("initial-exec")));
} // namespace

bool BitmapHeap::start(Region &region, size_t main_bytes) {
  region_ = &region;
  spans_ = static_cast<std::atomic<uint8_t> *>(region.table(main_bytes / BitmapSpan::kBytes + 1));
  if (!spans_ || pthread_key_create(&g_cache_key, end_cache) != 0)
    return false;
  covered_bytes_.store(main_bytes, std::memory_order_release);
  return true;
}

/// Returns the calling thread's cache, made at its first refill; nullptr: it may have none.
BitmapCache *BitmapHeap::make_cache() {
  if (t_cache || t_without_cache)
    return t_cache;
  t_without_cache = true; // pthread_setspecific may allocate
  auto *cache = static_cast<BitmapCache *>(g_small.allocate_zeroed(sizeof(BitmapCache)));
  if (!cache)
    return nullptr;
  if (pthread_setspecific(g_cache_key, cache) != 0) {
    g_small.release(cache);
    return nullptr;
  }
  t_without_cache = false;
  return t_cache = cache;
}

void BitmapHeap::end_cache(void *value) {
  t_without_cache = true; // later destructors of this thread use no cache
  g_bitmap_heap.trim();
  t_cache = nullptr;
  g_small.release(value);
}

/// Precondition of this and the following functions but grow() and return_spans(): lock_ is held.
void BitmapHeap::insert(BitmapSpan *span) {
  const unsigned k = min_of(span->longest(), kLists - 1);
  span->list = k;
  span->previous = nullptr;
  span->next = list_[k];
  if (span->next)
    span->next->previous = span;
  list_[k] = span;
  filled_[k / 64] |= uint64_t{1} << k % 64;
}
void BitmapHeap::remove(BitmapSpan *span) {
  const unsigned k = span->list;
  if (span->next)
    span->next->previous = span->previous;
  if (span->previous)
    span->previous->next = span->next;
  else if (!(list_[k] = span->next))
    filled_[k / 64] &= ~(uint64_t{1} << k % 64);
}
/// Moves the span to the list of its longest run.
void BitmapHeap::place(BitmapSpan *span) {
  if (min_of(span->longest(), kLists - 1) == span->list)
    return;
  remove(span);
  insert(span);
}

/// Returns the span with the shortest longest run of at least `n` granules; nullptr: there is none.
BitmapSpan *BitmapHeap::find(unsigned n) const {
  for (unsigned k = min_of(n, kLists - 1); k < kLists; k = k / 64 * 64 + 64) {
    const uint64_t bits = filled_[k / 64] >> k % 64;
    if (!bits)
      continue;
    BitmapSpan *span = list_[k + static_cast<unsigned>(__builtin_ctzll(bits))];
    while (span && span->longest() < n) // in the last list only
      span = span->next;
    return span;
  }
  return nullptr;
}

/// Takes at least one object if a span has room, and at most `most`.
unsigned BitmapHeap::take(unsigned n, unsigned most, void **objects) {
  unsigned taken = 0;
  BitmapSpan *span;
  while (!taken && (span = find(n))) {
    taken = span->take(n, most, objects);
    if (span == spare_ && taken)
      spare_ = nullptr;
    place(span);
  }
  free_granules_ -= uint64_t{taken} * n;
  return taken;
}

/// Adds a span.
bool BitmapHeap::grow() {
  g_small.main_pages().lower_reach(0); // every full unit may be collapsed
  auto *span =
      static_cast<BitmapSpan *>(g_small.allocate_aligned(BitmapSpan::kBytes, BitmapSpan::kBytes));
  if (!span)
    return false;
  const size_t offset = reinterpret_cast<uintptr_t>(span) - region_->start();
  if (offset >= covered_bytes_.load(std::memory_order_relaxed)) { // jemalloc's arena 0
    g_small.release(span);
    return false;
  }
  span->init();
  spans_[offset / BitmapSpan::kBytes].store(1, std::memory_order_relaxed);
  SpinGuard guard(lock_);
  insert(span);
  span_count_++;
  free_granules_ += span->free_granules();
  return true;
}

void *BitmapHeap::refill(unsigned n) {
  if (covered_bytes_.load(std::memory_order_acquire) == 0 || !g_small.ready())
    return nullptr;
  KeepErrno keep;
  BitmapCache *cache = n <= BitmapCache::kMostGranules ? make_cache() : nullptr;
  void *objects[BitmapCache::kMostBatch];
  const unsigned most = cache ? cache->batch(n) : 1;
  unsigned taken = 0;
  for (;;) {
    {
      SpinGuard guard(lock_);
      taken = take(n, most, objects);
    }
    if (taken)
      break;
    if (!grow())
      return nullptr;
  }
  if (cache)
    cache->double_batch(n);
  for (unsigned k = taken; k-- > 1;) { // the lowest address is served first
    *static_cast<void **>(objects[k]) = cache->head[n];
    cache->head[n] = objects[k];
    cache->count[n]++;
  }
  return objects[0];
}

/// Frees the object. An empty span that is not kept is put in front of the list `unused`.
bool BitmapHeap::give(void *p, BitmapSpan *&unused) {
  BitmapSpan *span = BitmapSpan::of(p);
  const unsigned before = span->free_granules();
  if (!span->give(p))
    return false;
  free_granules_ += span->free_granules() - before;
  place(span);
  if (!span->is_empty() || span == spare_)
    return true;
  if (!spare_) {
    spare_ = span;
    return true;
  }
  remove(span);
  span_count_--;
  free_granules_ -= span->free_granules();
  span->next = unused;
  unused = span;
  return true;
}

/// Returns objects of a list of the thread's cache until `keep` are left.
void BitmapHeap::return_list(BitmapCache &cache, unsigned n, unsigned keep, BitmapSpan *&unused) {
  while (cache.count[n] > keep) {
    void *p = cache.head[n];
    cache.head[n] = *static_cast<void **>(p);
    cache.count[n]--;
    give(p, unused);
  }
}

void BitmapHeap::return_spans(BitmapSpan *unused) {
  while (unused) {
    BitmapSpan *next = unused->next;
    const size_t offset = reinterpret_cast<uintptr_t>(unused) - region_->start();
    spans_[offset / BitmapSpan::kBytes].store(0, std::memory_order_relaxed);
    g_small.release(unused);
    unused = next;
  }
}

void BitmapHeap::release_slowly(void *p, unsigned n) {
  KeepErrno keep;
  BitmapCache *cache = n - 1 < BitmapCache::kMostGranules ? make_cache() : nullptr;
  BitmapSpan *unused = nullptr;
  {
    SpinGuard guard(lock_);
    if (cache && cache->count[n] >= cache->limit(n))
      return_list(*cache, n, cache->limit(n) / 2, unused);
    give(p, unused);
  }
  return_spans(unused);
}

void *BitmapHeap::resize(void *p, size_t bytes) {
  if (bytes > kMostBytes)
    return nullptr;
  BitmapSpan *span = BitmapSpan::of(p);
  const unsigned n = granules(bytes), had = span->granules_of(p);
  if (n == had)
    return p;
  SpinGuard guard(lock_);
  if (!span->resize(p, n))
    return nullptr;
  free_granules_ += uint64_t{had} - n; // less where the object grows
  place(span);
  return p;
}

void BitmapHeap::sweep() {
  BitmapCache *cache = t_cache;
  if (!cache)
    return;
  KeepErrno keep;
  BitmapSpan *unused = nullptr;
  {
    SpinGuard guard(lock_);
    for (unsigned n = 1; n <= BitmapCache::kMostGranules; n++) {
      cache->batch_less_one[n] /= 2;
      if (cache->count[n])
        return_list(*cache, n, cache->batch_less_one[n] ? cache->limit(n) : 0, unused);
    }
  }
  return_spans(unused);
}

void BitmapHeap::trim() {
  if (covered_bytes_.load(std::memory_order_acquire) == 0)
    return;
  KeepErrno keep;
  BitmapSpan *unused = nullptr;
  {
    SpinGuard guard(lock_);
    if (BitmapCache *cache = t_cache)
      for (unsigned n = 1; n <= BitmapCache::kMostGranules; n++)
        return_list(*cache, n, 0, unused);
    if (spare_) {
      remove(spare_);
      span_count_--;
      free_granules_ -= spare_->free_granules();
      spare_->next = unused;
      unused = spare_;
      spare_ = nullptr;
    }
  }
  return_spans(unused);
}

void BitmapHeap::statistics(uint64_t &span_bytes, uint64_t &live_bytes) {
  SpinGuard guard(lock_);
  span_bytes = span_count_ * BitmapSpan::kBytes;
  live_bytes = span_bytes - free_granules_ * BitmapSpan::kGranuleBytes;
}

} // namespace smalloc
