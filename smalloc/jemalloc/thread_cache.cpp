// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// thread_cache.cpp checks whether the private jemalloc has the thread cache that thread_cache.h
// declares: by its version, by the addresses of its counters, and by what an allocation and a free
// change. A foreign build may have other structures (no statistics, another release); libsmalloc
// then reads nothing from them.
#include "smalloc/jemalloc/thread_cache.h"
#include "smalloc/base/keep_errno.h"

#include <string.h>

namespace smalloc {
namespace {
constexpr size_t kProbes[] = {16, 320, kMostCachedLookup, kMostCached / 2};

/// Returns a value of mallctl(`name`), or zero.
template <class T> T asked(const char *name) {
  T value = {};
  size_t size = sizeof value;
  return jepriv_mallctl(name, &value, &size, nullptr, 0) == 0 ? value : T{};
}

/// True if the bins of classes in slabs that the cache does not hold take no object.
bool others_take_none() {
  for (size_t i = kCachedClasses; i < kSlabClasses; i++) {
    const ThreadCacheBin &bin = thread_cache().bins[i];
    if (static_cast<uint16_t>(reinterpret_cast<uintptr_t>(bin.top)) != bin.full)
      return false;
  }
  return true;
}

/// Tests one size: a freed object must lie on top of its bin, and the next request must get it.
bool works_for(size_t bytes, bool (*is_readable)(const void *)) {
  ThreadCacheFront &cache = thread_cache();
  const size_t index =
      bytes > kMostCachedLookup ? class_above_lookup(bytes) : je_sz_size2index_tab[(bytes + 7) / 8];
  const size_t usable = je_sz_index2size_tab[index];
  ThreadCacheBin &bin = cache.bins[index];
  void *p = jepriv_malloc(bytes);
  if (!p || jepriv_malloc_usable_size(p) != usable)
    return false;
  const uint64_t freed = cache.deallocated;
  jepriv_free(p);
  if (cache.deallocated != freed + usable || !is_readable(bin.top) || *bin.top != p)
    return false;
  const ThreadKnownPages &known = thread_known_pages(p);
  if (known.first >> kPagePartShift != reinterpret_cast<uintptr_t>(p) >> kPagePartShift ||
      !is_readable(reinterpret_cast<const void *>(known.elements)))
    return false;
  const uint64_t page = page_word(elements_of_0(known), p);
  if (is_in_slab(page) != (index < kSlabClasses) || page >> kPageClassShift != index)
    return false;
  void **top = bin.top;
  const uint64_t requests = bin.requests, allocated = cache.allocated;
  void *q = jepriv_malloc(bytes);
  const bool taken = q == p && bin.top == top + 1 && bin.requests == requests + 1 &&
                     cache.allocated == allocated + usable;
  jepriv_free(q);
  return taken && bin.top == top;
}
} // namespace

bool thread_cache_is_known(bool (*is_readable)(const void *)) {
  static_assert(sizeof(ThreadCacheBin) == 24 && offsetof(ThreadCacheFront, bins) == 40);
  KeepErrno keep;
  const char *version = asked<const char *>("version");
  const ThreadCacheFront &cache = thread_cache();
  if (!version || strcmp(version, SMALLOC_JEMALLOC_VERSION) != 0 ||
      asked<const uint64_t *>("thread.allocatedp") != &cache.allocated ||
      asked<const uint64_t *>("thread.deallocatedp") != &cache.deallocated ||
      asked<unsigned>("arenas.nhbins") != kCachedClasses ||
      asked<unsigned>("arenas.nbins") != kSlabClasses ||
      je_sz_index2size_tab[kLookupClass] != kMostCachedLookup || !others_take_none())
    return false;
  for (size_t bytes : kProbes)
    if (!works_for(bytes, is_readable))
      return false;
  return true;
}

} // namespace smalloc
