// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// thread_cache.h lets malloc and free take an object out of the private jemalloc's thread cache, or
// put it back, without a call. They do what jemalloc's own do first. The way to a page's size class
// is shorter than jemalloc's, whose objects may lie anywhere. The structures are those of jemalloc
// 5.3.0 and 5.3.1 on 64 bits. thread_cache_is_known() checks that the linked one has them;
// otherwise malloc and free keep calling jemalloc.
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

/// cache_bin_t: a stack of free objects of one class that grows downwards.
struct ThreadCacheBin {
  void **top;
  uint64_t requests;
  uint16_t low_water, full, empty; ///< low halves of addresses
};
/// jemalloc's own page, which may be larger than the system's: 4 KiB, or 64 KiB for arm64.
inline constexpr unsigned kJePageShift = SMALLOC_JEMALLOC_PAGE_SHIFT;
/// Classes below kSlabClasses lie in slabs, up to kMostInSlabs bytes; the others are large objects.
/// A cache holds the classes below kCachedClasses, up to kMostCached bytes.
inline constexpr size_t kSlabClasses = 36 + 4 * (kJePageShift - 12),
                        kMostInSlabs = size_t{14336} << (kJePageShift - 12), kCachedClasses = 41,
                        kMostCached = 32768;
/// The part of tsd_t that the first steps of malloc and free use. In a thread without a tsd_t, or
/// whose tsd_t has ended, the next event is due at 0.
struct ThreadCacheFront {
  uint64_t allocated, next_event, deallocated, next_free_event;
  void *slow;
  /// Of the classes in slabs, then of large objects up to kMostCached. Bins of larger classes in
  /// slabs have no room: they are full and empty at once.
  ThreadCacheBin bins[max_of(kSlabClasses, kCachedClasses)];
};
/// The tree of all pages has leaves that cover an equal part of the addresses, with one element a
/// page. jemalloc's configuration chooses their layout by the address bits of the machine that
/// built it: Debian 12's has 48, Debian 13's has 57. Each element contains a word: bit 0 means that
/// the page is a slab's, and the bits from kPageClassShift on are the size class.
#if SMALLOC_JEMALLOC_ADDRESS_BITS == 57
using PageWord = uint32_t; ///< rtree_leaf_elm_t::le_metadata
inline constexpr unsigned kPageClassShift = 5;
inline constexpr size_t kPageElementBytes = 16, kPageWordOffset = 8;
#else
using PageWord = uint64_t; ///< rtree_leaf_elm_t::le_bits
inline constexpr unsigned kPageClassShift = 48;
inline constexpr size_t kPageElementBytes = 8, kPageWordOffset = 0;
#endif
inline constexpr unsigned kPagePartShift = SMALLOC_JEMALLOC_PART_SHIFT;
/// rtree_ctx_cache_elm_t: a part of the addresses in which the thread has recently freed, and the
/// elements of its pages.
struct ThreadKnownPages {
  uintptr_t first, elements;
};
inline constexpr size_t kThreadCacheOffset = SMALLOC_JEMALLOC_CACHE_OFFSET,
                        kKnownPagesOffset = SMALLOC_JEMALLOC_KNOWN_PAGES_OFFSET;
inline constexpr unsigned kThreadKnownParts = 16;
inline constexpr size_t kMostCachedLookup = 4096; ///< larger sizes are not in jemalloc's table
inline constexpr size_t kLookupClass = 28;        ///< the class of kMostCachedLookup

inline ThreadCacheFront &thread_cache() {
  return *reinterpret_cast<ThreadCacheFront *>(je_tsd_tls + kThreadCacheOffset);
}
inline const ThreadKnownPages &thread_known_pages(const void *p) {
  const auto part = reinterpret_cast<uintptr_t>(p) >> kPagePartShift;
  return reinterpret_cast<const ThreadKnownPages *>(je_tsd_tls +
                                                    kKnownPagesOffset)[part % kThreadKnownParts];
}
/// Returns the word of the page of `p`. `elements_of_0`: the address that the element of the page
/// at address 0 would have.
inline uint64_t page_word(uintptr_t elements_of_0, const void *p) {
  const uintptr_t page = reinterpret_cast<uintptr_t>(p) >> kJePageShift;
  return __atomic_load_n(reinterpret_cast<const PageWord *>(elements_of_0 + kPageWordOffset +
                                                            page * kPageElementBytes),
                         __ATOMIC_RELAXED);
}
/// Returns the address that the element of the page at address 0 would have.
inline uintptr_t elements_of_0(const ThreadKnownPages &known) {
  return known.elements - (known.first >> kJePageShift) * kPageElementBytes;
}

inline ThreadCacheBin &bin_of_class(size_t index) {
  ThreadCacheBin *bin = &thread_cache().bins[index];
  asm("" : "+r"(bin)); // one address for all fields: GCC would compute each from the thread's
  return *bin;
}

/// Takes an object of a class from the thread's cache. Returns nullptr if the caller must call
/// jemalloc's malloc: the cache is empty or an event is due.
SMALLOC_INLINED void *take_of_class(size_t index) {
  ThreadCacheFront &cache = thread_cache();
  const uint64_t allocated = cache.allocated + je_sz_index2size_tab[index];
  if (SMALLOC_UNLIKELY(allocated >= cache.next_event))
    return nullptr;
  ThreadCacheBin &bin = bin_of_class(index);
  void **top = bin.top;
  const auto at = static_cast<uint16_t>(reinterpret_cast<uintptr_t>(top));
  if (SMALLOC_UNLIKELY(at == bin.low_water)) { // fewer objects than at any time since jemalloc's
                                               // last check
    if (at == bin.empty)
      return nullptr;
    bin.low_water = static_cast<uint16_t>(at + sizeof *top);
  }
  void *p = *top;
  if (!p)
    __builtin_unreachable(); // lets the compiler drop the caller's null test
  bin.top = top + 1;
  bin.requests++;
  cache.allocated = allocated;
  return p;
}
/// Takes an object of `bytes`. REQUIRES: bytes <= kMostCachedLookup
SMALLOC_INLINED void *take_from_thread_cache(size_t bytes) {
  return take_of_class(je_sz_size2index_tab[(bytes + 7) / 8]);
}
/// Returns the class of a larger size: four classes an octave, in equal steps: 5, 6, 7, 8, 10, 12
/// ... KiB. REQUIRES: bytes > kMostCachedLookup
constexpr size_t class_above_lookup(size_t bytes) {
  const auto octave = static_cast<size_t>(63 - __builtin_clzll(bytes - 1));
  return kLookupClass + 4 * octave - 4 * 13 + ((bytes - 1) >> (octave - 2)) + 1;
}
static_assert(class_above_lookup(kMostCachedLookup + 1) == kLookupClass + 1 &&
              class_above_lookup(kMostInSlabs) == kSlabClasses - 1 &&
              class_above_lookup(kMostInSlabs + 1) == kSlabClasses &&
              class_above_lookup(kMostCached) == kCachedClasses - 1);
/// Takes a larger object. REQUIRES: kMostCachedLookup < bytes <= kMostCached
SMALLOC_INLINED void *take_larger_from_thread_cache(size_t bytes) {
  return take_of_class(class_above_lookup(bytes));
}

/// Puts an object of a class into the cache. Returns false if the caller must call jemalloc's free.
SMALLOC_INLINED bool put_of_class(void *p, size_t index) {
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
/// True if the object is in a slab, by the word of its page.
inline bool is_in_slab(uint64_t page) { return page & 1; }
/// Puts an object of a slab into the cache. REQUIRES: is_in_slab(page)
SMALLOC_INLINED bool put_into_thread_cache(void *p, uint64_t page) {
  return put_of_class(p, page >> kPageClassShift);
}
/// Puts an object of any other page into the cache. Most large objects are not cached.
SMALLOC_INLINED bool put_larger_into_thread_cache(void *p, uint64_t page) {
  const size_t index = page >> kPageClassShift;
  constexpr size_t kLarge = kCachedClasses > kSlabClasses ? kCachedClasses - kSlabClasses : 0;
  return index - kSlabClasses < kLarge && put_of_class(p, index);
}

/// Returns the class of `bytes`. REQUIRES: bytes <= kMostCached
inline size_t class_of(size_t bytes) {
  return bytes <= kMostCachedLookup ? je_sz_size2index_tab[(bytes + 7) / 8]
                                    : class_above_lookup(bytes);
}
/// Resizes an object in a slab to a size in a slab as jemalloc's realloc does. It stays if its slot
/// has the new size's class, and moves otherwise, smaller or larger. `page` is the word of the
/// object's page, 0 if unknown. Returns false if the caller must call jemalloc's realloc. If the
/// cache is full, `left` is the object that the caller must pass to jemalloc's free.
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

/// True if jemalloc keeps its cache as declared above. Tests it with objects of the calling thread,
/// which must be bound to an arena. `is_readable` returns true if an address may be read.
bool thread_cache_is_known(bool (*is_readable)(const void *));

/// Records by part where jemalloc keeps the elements of the range's pages, which never move. Empty
/// until the cache is known, and if each free must be seen.
class KnownPages {
public:
  /// Covers the first `bytes` of the range, which belong to the main heap. The range starts on a
  /// whole part.
  static void cover(size_t bytes) {
    covered_bytes_.store(min_of(bytes, kParts << kPagePartShift) >> kPagePartShift
                                                                        << kPagePartShift,
                         std::memory_order_relaxed);
  }
  /// Returns the word of the page of `p`, `offset` bytes from the range's start; 0: unknown.
  static uint64_t word(const void *p, size_t offset) {
    if (SMALLOC_UNLIKELY(offset >= folded(covered_bytes_)))
      return 0;
    // A test for the part that is used most would not be faster: early objects lie in another part
    // than later ones, so it would often be mispredicted.
    const uintptr_t known =
        elements_of_0_[offset >> kPagePartShift].load(std::memory_order_relaxed);
    return SMALLOC_LIKELY(known != 0) ? page_word(known, p) : 0;
  }
  /// Records where the elements of p's part are, after jemalloc has freed or resized `p`: the
  /// calling thread then knows them.
  static void learn(const void *p, size_t offset) {
    if (offset >= folded(covered_bytes_))
      return;
    std::atomic<uintptr_t> &part = elements_of_0_[offset >> kPagePartShift];
    const ThreadKnownPages &known = thread_known_pages(p);
    if (!part.load(std::memory_order_relaxed) &&
        known.first == reinterpret_cast<uintptr_t>(p) >> kPagePartShift << kPagePartShift)
      part.store(elements_of_0(known), std::memory_order_release);
  }

private:
  static constexpr size_t kParts = (size_t{512} << 30) >> kPagePartShift;
  static std::atomic<size_t> covered_bytes_ SMALLOC_NEAR;
  /// By part: see elements_of_0(); 0: unknown.
  static std::atomic<uintptr_t> elements_of_0_[kParts] SMALLOC_NEAR;
};

/// Limits that malloc and the entry of direct sites test first. All are 0 until they are known.
struct MallocEntry {
  /// Smaller requests go to the next allocator without another test.
  std::atomic<size_t> foreign_below{0};
  /// Smaller requests may come from the thread cache: libsmalloc's heaps serve all of them, and the
  /// site does not matter.
  std::atomic<size_t> cached_below{0};
  /// The same limit for requests above kMostCachedLookup. 0 under heap:auto, where some of them are
  /// not served by size classes (Runtime::repeats()).
  std::atomic<size_t> larger_cached_below{0};
  /// The same limits for requests of direct sites.
  std::atomic<size_t> direct_below{0}, larger_direct_below{0};
};
extern MallocEntry g_malloc_entry SMALLOC_NEAR;

} // namespace smalloc
#endif
