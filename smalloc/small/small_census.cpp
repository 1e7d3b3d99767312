// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// small_census.cpp counts live bytes and slab bytes of each size class of the private jemalloc.
// While SmallPacking selects a class, its objects come from the arena instead of a thread's cache.
#include "smalloc/base/keep_errno.h"
#include "smalloc/small/small_heap.h"

namespace smalloc {
namespace {

/// One of jemalloc's numbers per class, read by its mib: looking the name up costs more.
template <class T> class ClassValue {
public:
  /// `name` has a 0 for the class in its part number `at`.
  ClassValue(const char *name, unsigned at) : at_(at) {
    ok_ = jepriv_mallctlnametomib(name, mib_, &parts_) == 0;
  }
  bool get(unsigned index, T &value) {
    size_t size = sizeof value;
    mib_[at_] = index;
    return ok_ && jepriv_mallctlbymib(mib_, parts_, &value, &size, nullptr, 0) == 0;
  }

private:
  size_t mib_[7] = {}, parts_ = 7;
  unsigned at_;
  bool ok_;
};

/// Returns the size class of `bytes`; kMostClasses if it has no slabs.
unsigned class_of(size_t bytes, unsigned classes) {
  constexpr size_t kInTable = 4096;
  unsigned index = je_sz_size2index_tab[(min_of(bytes, kInTable) + 7) / 8];
  while (index < classes && je_sz_index2size_tab[index] < bytes)
    index++;
  return index < classes ? index : SmallPacking::kMostClasses;
}

std::atomic<unsigned> g_classes{0};

} // namespace

/// Counts all arenas together (4096: MALLCTL_ARENAS_ALL). Costs about 50 us. Returns the number of
/// classes; 0: unknown.
unsigned SmallHeap::take_census(ClassCensus *census) {
  KeepErrno keep;
  uint64_t epoch = 1;
  unsigned classes = 0;
  size_t size = sizeof classes;
  if (jepriv_mallctl("arenas.nbins", &classes, &size, nullptr, 0) != 0 ||
      jepriv_mallctl("epoch", nullptr, nullptr, &epoch, sizeof epoch) != 0)
    return 0;
  classes = min_of(classes, SmallPacking::kMostClasses);
  ClassValue<size_t> bytes("arenas.bin.0.size", 2), live("stats.arenas.4096.bins.0.curregs", 4),
      slabs("stats.arenas.4096.bins.0.curslabs", 4);
  ClassValue<uint32_t> objects("arenas.bin.0.nregs", 2);
  for (unsigned i = 0; i < classes; i++) {
    size_t one = 0, have = 0, in = 0;
    uint32_t each = 0;
    if (!bytes.get(i, one) || !live.get(i, have) || !slabs.get(i, in) || !objects.get(i, each))
      return 0;
    census[i] = {uint64_t{have} * one, uint64_t{in} * each * one};
  }
  g_classes.store(classes, std::memory_order_relaxed);
  return classes;
}

void SmallHeap::count_classes(uint64_t now_ns) {
  ClassCensus census[SmallPacking::kMostClasses];
  if (const unsigned classes = take_census(census))
    packing_.counted(census, classes, now_ns);
}

void *SmallHeap::allocate_packed(size_t bytes, bool zero) {
  const bool packed = packing_.wants(class_of(bytes, g_classes.load(std::memory_order_relaxed)));
  packing_.pay(packed);
  if (packed)
    return jepriv_mallocx(bytes ? bytes : 1, kJeNoTcache | (zero ? kJeZero : 0));
  return zero ? jepriv_calloc(1, bytes) : jepriv_malloc(bytes);
}

} // namespace smalloc
