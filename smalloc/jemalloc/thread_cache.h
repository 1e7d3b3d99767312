// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// thread_cache.h decides when malloc and free take an object out of the private jemalloc's thread
// cache, or put it back, themselves: what jemalloc's own do first, without a call between the two,
// and with a shorter way to a page's size class than jemalloc's, whose objects may lie anywhere. The
// structures are those of jemalloc 5.3.0 on 64 bits; thread_cache_is_known() makes sure that the one
// at hand has them, or malloc and free go on calling.
#ifndef SMALLOC_JEMALLOC_THREAD_CACHE_H
#define SMALLOC_JEMALLOC_THREAD_CACHE_H

#include "smalloc/base/folded.h"
#include "smalloc/base/units.h"
#include "smalloc/jemalloc/private_jemalloc.h"

#include <atomic>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern "C" {
/// jemalloc's thread-local state, tsd_t.
extern __thread unsigned char je_tsd_tls[]
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
}

namespace smalloc {

/// cache_bin_t: a stack of free objects of a class that grows downwards.
struct ThreadCacheBin {
  void **top;
  uint64_t requests;
  uint16_t low_water, full, empty; ///< low halves of addresses
};
/// Objects of the smaller classes lie in slabs, those of the others are large.
inline constexpr size_t kSlabClasses = 36, kCachedClasses = 41, kMostCached = 32768;
/// The part of tsd_t that the first steps of malloc and free use. In a thread that has none yet, or
/// none any more, the next event is due at 0.
struct ThreadCacheFront {
  uint64_t allocated, next_event, deallocated, next_free_event;
  void *slow;
  ThreadCacheBin
      bins[41]; ///< of kSlabClasses classes in slabs, then of large objects up to kMostCached
};
/// rtree_ctx_cache_elm_t: a GiB of addresses that the thread has lately freed in, and a word for each
/// of its pages: from bit 48 on the size class, bit 0 whether it is a slab's.
struct ThreadKnownPages {
  uintptr_t first;
  const uint64_t *words;
};
inline constexpr size_t kThreadCacheOffset = 0x338, kKnownPagesOffset = 0x1b0;
inline constexpr unsigned kPageClassShift = 48;
inline constexpr unsigned kPagePartShift = 30, kThreadKnownParts = 16;
inline constexpr size_t kMostCachedLookup = 4096; ///< larger sizes are not in jemalloc's table
inline constexpr size_t kLookupClass = 28;        ///< that of kMostCachedLookup

inline ThreadCacheFront &thread_cache() {
  return *reinterpret_cast<ThreadCacheFront *>(je_tsd_tls + kThreadCacheOffset);
}
inline const ThreadKnownPages &thread_known_pages(const void *p) {
  const auto part = reinterpret_cast<uintptr_t>(p) >> kPagePartShift;
  return reinterpret_cast<const ThreadKnownPages *>(je_tsd_tls +
                                                    kKnownPagesOffset)[part % kThreadKnownParts];
}
inline size_t page_in_part(const void *p) {
  return (reinterpret_cast<uintptr_t>(p) / kBasePageBytes) %
         ((size_t{1} << kPagePartShift) / kBasePageBytes);
}

inline ThreadCacheBin &bin_of_class(size_t index) {
  ThreadCacheBin *bin = &thread_cache().bins[index];
  asm("" : "+r"(bin)); // one address for all fields: GCC would compute each anew from the thread's
  return *bin;
}

/// nullptr: jemalloc's malloc has to be called, because the cache is empty or something is due.
inline void *take_of_class(size_t index) {
  ThreadCacheFront &cache = thread_cache();
  const uint64_t allocated = cache.allocated + je_sz_index2size_tab[index];
  if (SMALLOC_UNLIKELY(allocated >= cache.next_event))
    return nullptr;
  ThreadCacheBin &bin = bin_of_class(index);
  void **top = bin.top;
  const auto at = static_cast<uint16_t>(reinterpret_cast<uintptr_t>(top));
  if (SMALLOC_UNLIKELY(at == bin.low_water)) { // fewer objects than ever since jemalloc looked last
    if (at == bin.empty)
      return nullptr;
    bin.low_water = static_cast<uint16_t>(at + sizeof *top);
  }
  void *p = *top;
  if (!p)
    __builtin_unreachable(); // spares the caller's test
  bin.top = top + 1;
  bin.requests++;
  cache.allocated = allocated;
  return p;
}
/// REQUIRES: bytes <= kMostCachedLookup
inline void *take_from_thread_cache(size_t bytes) {
  return take_of_class(je_sz_size2index_tab[(bytes + 7) / 8]);
}
/// Four classes an octave, in equal steps: 5, 6, 7, 8, 10, 12 ... KiB.
/// REQUIRES: bytes > kMostCachedLookup
constexpr size_t class_above_lookup(size_t bytes) {
  const auto octave = static_cast<size_t>(63 - __builtin_clzll(bytes - 1));
  return kLookupClass + 4 * octave - 4 * 13 + ((bytes - 1) >> (octave - 2)) + 1;
}
static_assert(class_above_lookup(kMostCachedLookup + 1) == kLookupClass + 1 &&
              class_above_lookup(14336) == kSlabClasses - 1 &&
              class_above_lookup(14337) == kSlabClasses &&
              class_above_lookup(kMostCached) == kCachedClasses - 1);
/// REQUIRES: kMostCachedLookup < bytes <= kMostCached
inline void *take_larger_from_thread_cache(size_t bytes) {
  return take_of_class(class_above_lookup(bytes));
}

/// False: jemalloc's free has to be called.
inline bool put_of_class(void *p, size_t index) {
  ThreadCacheFront &cache = thread_cache();
  const uint64_t deallocated = cache.deallocated + je_sz_index2size_tab[index];
  if (SMALLOC_UNLIKELY(deallocated >= cache.next_free_event))
    return false;
  ThreadCacheBin &bin = bin_of_class(index);
  void **top = bin.top;
  if (SMALLOC_UNLIKELY(static_cast<uint16_t>(reinterpret_cast<uintptr_t>(top)) == bin.full))
    return false;
  bin.top = --top;
  *top = p;
  cache.deallocated = deallocated;
  return true;
}
/// By the word of the object's page.
inline bool is_in_slab(uint64_t page) { return page & 1; }
/// REQUIRES: is_in_slab(page)
inline bool put_into_thread_cache(void *p, uint64_t page) {
  return put_of_class(p, page >> kPageClassShift);
}
/// The same of any other page. Most large objects are not cached.
inline bool put_larger_into_thread_cache(void *p, uint64_t page) {
  const size_t index = page >> kPageClassShift;
  return index - kSlabClasses < kCachedClasses - kSlabClasses && put_of_class(p, index);
}

/// REQUIRES: bytes <= kMostCached
inline size_t class_of(size_t bytes) {
  return bytes <= kMostCachedLookup ? je_sz_size2index_tab[(bytes + 7) / 8]
                                    : class_above_lookup(bytes);
}
/// What jemalloc's realloc does with an object in a slab that is to be in one, too: it stays if its slot is of the new size's class,
/// and moves otherwise, smaller or larger. `page` is the word of the object's page, 0 if that is not known. False: jemalloc's realloc
/// has to be called; `left` is what has to go to jemalloc's free afterwards because the cache is full of its class.
inline bool resize_in_thread_cache(void *p, size_t bytes, uint64_t page, void *&now, void *&left) {
  const size_t index = page >> kPageClassShift;
  if (!is_in_slab(page) || bytes - 1 >= kMostCached)
    return false;
  const size_t wanted = class_of(bytes);
  now = p;
  left = nullptr;
  if (wanted == index)
    return true;
  if (wanted >= kSlabClasses || !(now = take_of_class(wanted)))
    return false;
  memcpy(now, p, je_sz_index2size_tab[min_of(wanted, index)]);
  if (SMALLOC_UNLIKELY(!put_of_class(p, index)))
    left = p;
  return true;
}

/// Does jemalloc keep its cache as above? Tries it with objects of the calling thread, which must be
/// bound to an arena; `ours` says whether an address may be read.
bool thread_cache_is_known(bool (*ours)(const void *));

/// Where jemalloc has the words of our range's pages, by GiB: it never moves them. Empty until the
/// cache is known, and where frees have to be seen one by one.
class KnownPages {
public:
  constexpr KnownPages() = default;
  /// The first `bytes` of a range that starts on a whole GiB are the main heap's.
  void cover(size_t bytes) {
    covered_bytes_.store(min_of(bytes, kParts << kPagePartShift) >> kPagePartShift
                                                                        << kPagePartShift,
                         std::memory_order_relaxed);
  }
  /// The word of the page of p, `offset` bytes from the range's start; 0: not known.
  uint64_t word(const void *p, size_t offset) const {
    // All that free does for an object's class waits for this load: its address is one shift away from p.
    const Part &home = *folded(home_);
    if (SMALLOC_LIKELY(reinterpret_cast<uintptr_t>(p) - folded(home.start) < kPartBytes))
      return home.word(p);
    if (SMALLOC_UNLIKELY(offset >= folded(covered_bytes_)))
      return 0;
    const Part &part = parts_[offset >> kPagePartShift];
    return SMALLOC_LIKELY(part.start.load(std::memory_order_acquire) != 0) ? part.word(p) : 0;
  }
  /// jemalloc has just freed or resized p: the calling thread knows where its page's word is. The part that became known last is the one
  /// where the heap grows.
  void learn(const void *p, size_t offset) {
    if (offset >= folded(covered_bytes_))
      return;
    Part &part = parts_[offset >> kPagePartShift];
    const ThreadKnownPages &known = thread_known_pages(p);
    if (!part.start.load(std::memory_order_relaxed) &&
        known.first == reinterpret_cast<uintptr_t>(p) >> kPagePartShift << kPagePartShift) {
      part.words_of_0.store(reinterpret_cast<uintptr_t>(known.words) -
                                known.first / kBasePageBytes * sizeof *known.words,
                            std::memory_order_relaxed);
      part.start.store(known.first, std::memory_order_release);
      home_.store(&part, std::memory_order_release);
    }
  }

private:
  static constexpr size_t kPartBytes = size_t{1} << kPagePartShift;
  struct Part {
    std::atomic<uintptr_t> start{0};      ///< 0: not known
    std::atomic<uintptr_t> words_of_0{0}; ///< where the word of the page at address 0 would be
    uint64_t word(const void *p) const {
      const auto *words = reinterpret_cast<const uint64_t *>(folded(words_of_0));
      return __atomic_load_n(words + reinterpret_cast<uintptr_t>(p) / kBasePageBytes,
                             __ATOMIC_RELAXED);
    }
  };
  static constexpr Part kNowhere{uintptr_t{1} << 63, 0}; ///< no address of a program lies in it
  std::atomic<size_t> covered_bytes_{0};
  std::atomic<const Part *> home_{&kNowhere};
  static constexpr size_t kParts = 512;
  /// Apart, as they are all zero, which what points to kNowhere is not.
  static Part parts_[kParts] SMALLOC_NEAR;
};
extern KnownPages g_known_pages SMALLOC_NEAR;

/// What malloc and the entry of direct sites ask first. All are 0 until it is known.
struct MallocEntry {
  /// Smaller requests are the next allocator's, without another question.
  std::atomic<size_t> foreign_below{0};
  /// Smaller ones may come from the thread cache: everything is served by our heaps, and nobody asks
  /// for whom.
  std::atomic<size_t> cached_below{0};
  /// The same of those above kMostCachedLookup.
  std::atomic<size_t> larger_cached_below{0};
  /// Smaller ones of direct sites may.
  std::atomic<size_t> direct_below{0}, larger_direct_below{0};
};
extern MallocEntry g_malloc_entry SMALLOC_NEAR;

} // namespace smalloc
#endif
