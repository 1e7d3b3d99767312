// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bitmap_heap.cpp moves objects between threads' caches and free runs. A request takes the shortest
// listed run that is long enough (best fit). Freed granules join the listed runs when requests need
// them: a program that only frees lists nothing. No call to jemalloc is made under the lock: at a
// fork jemalloc's locks are taken independently of this one.
#include "smalloc/small/bitmap_heap.h"

#include "smalloc/base/keep_errno.h"
#include "smalloc/small/small_heap.h"

#include <pthread.h>
#include <unistd.h>

namespace smalloc {

constinit BitmapHeap g_bitmap_heap;
__thread BitmapCache *BitmapHeap::t_cache;

namespace {
pthread_key_t g_cache_key;
/// This thread has no cache: it ends, it is not the main thread, or the system refused a
/// thread-specific value.
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

/// Returns the calling thread's cache, made at its first refill; nullptr: it may have none. Only
/// the main thread has one: there is one lock, and at random replacement jemalloc's caches, which
/// serve other threads, are faster.
BitmapCache *BitmapHeap::make_cache() {
  if (t_cache || t_without_cache)
    return t_cache;
  t_without_cache = true; // pthread_setspecific may allocate
  if (gettid() != getpid()) {
    t_small.no_bitmap = true;
    return nullptr;
  }
  auto *cache = static_cast<BitmapCache *>(g_small.allocate_zeroed(sizeof(BitmapCache)));
  if (!cache) {
    t_without_cache = false; // the next refill tries again
    return nullptr;
  }
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
  while (void *block = static_cast<BitmapCache *>(value)->remove_block())
    g_small.release(block);
  g_small.release(value);
}

/// Precondition of this and the following private functions: lock_ is held. Exceptions: set_span(),
/// grow(), cache_object(), refill(), return_spans() and release_slowly().
void BitmapHeap::insert(FreeRun *run, unsigned length) {
  const unsigned k = list_of(length);
  run->previous = nullptr;
  run->next = list_[k];
  if (run->next)
    run->next->previous = run;
  list_[k] = run;
  filled_[k / 64] |= uint64_t{1} << k % 64;
}
void BitmapHeap::remove(FreeRun *run, unsigned length) {
  const unsigned k = list_of(length);
  if (run->next)
    run->next->previous = run->previous;
  if (run->previous)
    run->previous->next = run->next;
  else if (!(list_[k] = run->next))
    filled_[k / 64] &= ~(uint64_t{1} << k % 64);
}

/// Returns a run of at least `n` granules, the shortest to within kStep; nullptr: there is none.
FreeRun *BitmapHeap::find(unsigned n) const {
  // Above kExact, runs of n's own list may be shorter.
  unsigned k = n <= kExact ? n : min_of(kExact + (n - kExact + kStep - 1) / kStep, kLists - 1);
  for (; k < kLists; k = k / 64 * 64 + 64)
    if (const uint64_t bits = filled_[k / 64] >> k % 64)
      return list_[k + static_cast<unsigned>(__builtin_ctzll(bits))];
  return nullptr;
}

/// Takes up to `most` objects of `n` granules. Returns how many. Where the run has room, they lie
/// so that they cross as few cache lines as possible; the granules in front of them stay free.
unsigned BitmapHeap::take(unsigned n, unsigned most, void **objects) {
  unsigned taken = 0;
  while (taken < most) {
    FreeRun *run = find(n);
    if (!run)
      break;
    unsigned length = BitmapSpan::length_of(run);
    BitmapSpan *span = BitmapSpan::of(run);
    remove(run, length);
    if (const unsigned skew = BitmapSpan::before_aligned(run, n); skew && skew + n <= length) {
      insert(span->list_run(run, skew), skew);
      run = reinterpret_cast<FreeRun *>(reinterpret_cast<char *>(run) +
                                        skew * BitmapSpan::kGranuleBytes);
      length -= skew;
    }
    const unsigned count = min_of(most - taken, length / n);
    auto *at = reinterpret_cast<char *>(run);
    if (FreeRun *rest = span->take(run, length, n, count))
      insert(rest, length - count * n);
    for (unsigned k = 0; k < count; k++, at += n * BitmapSpan::kGranuleBytes)
      objects[taken++] = at;
    if (span == spare_)
      spare_ = nullptr;
  }
  listed_granules_ -= uint64_t{taken} * n;
  return taken;
}

/// Records whether the memory of a span belongs to one.
void BitmapHeap::set_span(BitmapSpan *span, bool is_span) {
  const size_t offset = reinterpret_cast<uintptr_t>(span) - region_->start();
  spans_[offset / BitmapSpan::kBytes].store(is_span, std::memory_order_relaxed);
}

/// Adds a span.
bool BitmapHeap::grow() {
  g_small.main_pages().lower_reach(0); // every full unit may be collapsed
  void *memory = g_small.allocate_aligned(BitmapSpan::kBytes, BitmapSpan::kBytes);
  if (!memory)
    return false;
  BitmapSpan *span = BitmapSpan::of(memory);
  span->init();
  set_span(span, true);
  SpinGuard guard(lock_);
  listed_granules_ += list_span(span);
  if (!spare_) // until an object is taken from it
    spare_ = span;
  span_count_++;
  return true;
}

/// Lists the free granules of a span that are in no listed run, joined with the runs beside them.
/// Returns how many they were.
uint64_t BitmapHeap::list_span(BitmapSpan *span) {
  uint64_t done = 0;
  for (unsigned from = 0, length;;) {
    void *start = span->next_unlisted(from, length);
    if (!length)
      break;
    done += length;
    char *end = static_cast<char *>(start) + length * BitmapSpan::kGranuleBytes;
    if (FreeRun *after = span->run_at(end)) {
      const unsigned more = BitmapSpan::length_of(after);
      remove(after, more);
      length += more;
    }
    if (FreeRun *before = span->run_before(start)) {
      const unsigned more = BitmapSpan::length_of(before);
      remove(before, more);
      length += more;
      start = before;
    }
    insert(span->list_run(start, length), length);
  }
  span->all_listed();
  return done;
}

/// Lists free granules that are in no listed run, span by span, until `least` of them are listed.
/// After a program has freed much, one request would otherwise list all of it under the lock.
void BitmapHeap::list_unlisted(uint64_t least) {
  uint64_t done = 0;
  while (BitmapSpan *span = done < least ? unlisted_spans_ : nullptr) {
    remove_unlisted(span);
    done += list_span(span);
  }
  listed_granules_ += done;
  unlisted_granules_ -= done;
}

/// Takes the span out of the list of those with free granules that are in no listed run.
void BitmapHeap::remove_unlisted(BitmapSpan *span) {
  if (span->next_unlisted_span)
    span->next_unlisted_span->previous_unlisted_span = span->previous_unlisted_span;
  if (span->previous_unlisted_span)
    span->previous_unlisted_span->next_unlisted_span = span->next_unlisted_span;
  else
    unlisted_spans_ = span->next_unlisted_span;
  span->in_unlisted_list = false;
}

/// Notes that `n` granules of the span are free and in no listed run.
void BitmapHeap::add_unlisted(BitmapSpan *span, unsigned n) {
  unlisted_granules_ += n;
  if (span->in_unlisted_list)
    return;
  span->in_unlisted_list = true;
  span->previous_unlisted_span = nullptr;
  if ((span->next_unlisted_span = unlisted_spans_))
    unlisted_spans_->previous_unlisted_span = span;
  unlisted_spans_ = span;
}

void *BitmapHeap::allocate(size_t bytes) {
  if (!open_.load(std::memory_order_acquire))
    return nullptr;
  KeepErrno keep;
  BitmapCache *cache = make_cache();
  if (t_small.no_bitmap)
    return nullptr;
  const unsigned n = granules(bytes);
  void *p = cache ? cache->pop_about(n) : nullptr;
  return p ? p : refill(cache, n);
}

/// Puts an object into the thread's cache. False: no memory for its address.
bool BitmapHeap::cache_object(BitmapCache &cache, unsigned n, void *p) {
  if (cache.add(n, p))
    return true;
  void *block = g_small.allocate_aligned(BitmapCache::kBlockBytes, BitmapCache::kChunkBytes);
  if (!block)
    return false;
  cache.add_block(block);
  return cache.add(n, p);
}

/// Takes objects from free runs. Returns one; the cache gets the others.
void *BitmapHeap::refill(BitmapCache *cache, unsigned n) {
  void *objects[BitmapCache::kMostBatch];
  const unsigned most = cache ? cache->batch(n) : 1;
  unsigned taken = 0;
  for (;;) {
    {
      SpinGuard guard(lock_);
      const uint64_t limit = share_of_live(kLiveShare, kLeastUnlistedBytes, kMostUnlistedBytes);
      if (unlisted_granules_ >= limit)
        list_unlisted(limit);
      taken = take(n, most, objects);
      while (!taken && unlisted_granules_ >= limit / kWorthListing) {
        list_unlisted(limit);
        taken = take(n, most, objects);
      }
    }
    if (taken)
      break;
    if (!grow())
      return nullptr;
  }
  if (cache)
    cache->double_batch(n);
  for (unsigned k = taken; k-- > 1;) // the lowest address is served first
    if (!cache_object(*cache, n, objects[k]))
      release_slowly(objects[k], n);
  return objects[0];
}

/// Frees the object, if a live one starts at `p`. An empty span that is not kept is put in front of
/// the list `unused`.
void BitmapHeap::give(void *p, unsigned n, BitmapSpan *&unused) {
  BitmapSpan *span = BitmapSpan::of(p);
  if (!n || !span->starts_object(p))
    return;
  span->free_object(p, n);
  add_unlisted(span, n);
  if (span->is_empty())
    remove_span(span, unused);
}

/// Takes an empty span out of the heap, or keeps it as the spare one.
void BitmapHeap::remove_span(BitmapSpan *span, BitmapSpan *&unused) {
  uint64_t listed = 0;
  for (unsigned from = 0, length;;) {
    FreeRun *run = span->next_run(from, length);
    if (!length)
      break;
    remove(run, length);
    listed += length;
  }
  listed_granules_ -= listed;
  unlisted_granules_ -= span->free_granules() - listed;
  if (span->in_unlisted_list)
    remove_unlisted(span);
  if (!spare_) {
    spare_ = span;
    span->init();
    listed_granules_ += list_span(span);
    return;
  }
  if (span == spare_)
    spare_ = nullptr;
  span_count_--;
  span->next_unlisted_span = unused;
  unused = span;
}

/// Returns objects of the thread's cache, size by size, until at most `kept` granules are left. The
/// next call continues with the next size: a cache that lost all sizes at once had to refill all.
void BitmapHeap::return_cached(BitmapCache &cache, uint32_t kept, BitmapSpan *&unused) {
  for (unsigned k = 0; k < BitmapCache::kMostGranules && cache.charged() > kept; k++) {
    const unsigned n = next_returned_ = next_returned_ % BitmapCache::kMostGranules + 1;
    cache.halve_batch(n);
    if (cache.has(n))
      while (void *p = cache.pop(n))
        give(p, n, unused);
  }
  const uint64_t least = span_count_ <= BitmapCache::kFewSpans ? BitmapCache::kLeastOfFewSpans
                                                               : BitmapCache::kLeastBytes;
  cache.set_limit(static_cast<uint32_t>(
      share_of_live(BitmapCache::kLiveShare, least, BitmapCache::kMostBytes)));
}

uint64_t BitmapHeap::share_of_live(unsigned share, uint64_t least, uint64_t most) const {
  const uint64_t live = span_count_ * BitmapSpan::kGranules - listed_granules_ - unlisted_granules_;
  return max_of(least / BitmapSpan::kGranuleBytes,
                min_of(live / share, most / BitmapSpan::kGranuleBytes));
}

/// Returns empty spans, linked through next_unlisted_span, to jemalloc.
void BitmapHeap::return_spans(BitmapSpan *unused) {
  while (unused) {
    BitmapSpan *span = unused;
    unused = span->next_unlisted_span;
    set_span(span, false);
    g_small.release(span->start());
  }
}

void BitmapHeap::release_slowly(void *p, unsigned n) {
  KeepErrno keep;
  BitmapCache *cache = make_cache();
  if (cache && n - 1 < BitmapCache::kMostGranules && !cache->is_full(n) &&
      cache_object(*cache, n, p))
    return;
  BitmapSpan *unused = nullptr;
  {
    SpinGuard guard(lock_);
    if (cache)
      return_cached(*cache, cache->charged() / 2, unused);
    give(p, n, unused);
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
  if (n > had) {
    char *end = static_cast<char *>(p) + had * BitmapSpan::kGranuleBytes;
    FreeRun *run = span->run_at(end);
    const unsigned behind = run ? BitmapSpan::length_of(run) : 0;
    if (n > had + behind)
      return nullptr;
    remove(run, behind);
    if (FreeRun *rest = span->take(run, behind, n - had, 1))
      insert(rest, behind - (n - had));
    listed_granules_ -= n - had;
    span->join_objects(p, had);
  } else {
    span->free_end(p, had, n);
    add_unlisted(span, had - n);
  }
  return p;
}

void BitmapHeap::trim() {
  if (covered_bytes_.load(std::memory_order_acquire) == 0)
    return;
  KeepErrno keep;
  BitmapSpan *unused = nullptr;
  {
    SpinGuard guard(lock_);
    if (BitmapCache *cache = t_cache)
      return_cached(*cache, 0, unused);
    if (spare_)
      remove_span(spare_, unused);
  }
  return_spans(unused);
}

void BitmapHeap::statistics(uint64_t &span_bytes, uint64_t &live_bytes) {
  SpinGuard guard(lock_);
  span_bytes = span_count_ * BitmapSpan::kBytes;
  live_bytes = span_bytes - (listed_granules_ + unlisted_granules_) * BitmapSpan::kGranuleBytes;
}

} // namespace smalloc
