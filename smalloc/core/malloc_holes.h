// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// malloc_holes.h decides whether new small objects go where the program's malloc has holes. What a site got
// before it was served lies there; when it dies while new objects come from us, its places stay resident and
// empty, and the process has both heaps. So once our heap serves, what is freed there is counted (one free in 61 by
// its size, the rest by their number), and so is what sites take there: the difference is what may lie there
// unused. When that is more than a share of our heap, the sites go there until it is used up, or until malloc
// has nothing that fits: what it then hands out is memory that was not resident. Deaths in both heaps are thus
// followed by births in both, and neither has more than a few holes. Where objects of several sizes die, each size is counted
// for itself. But a heap in which mixed sizes only die is left to empty, page by page: with a new small object in it, a page never
// does.
#ifndef SMALLOC_CORE_MALLOC_HOLES_H
#define SMALLOC_CORE_MALLOC_HOLES_H

#include "smalloc/base/units.h"

#include <atomic>

namespace smalloc {

class MallocHoles {
public:
  /// A prime: objects that are freed in turn must not be sampled one and the same.
  static constexpr unsigned kFreesPerSample = 61;
  /// Larger objects' places are counted as so much each: they are few, and a sample of one would count for 61 of them.
  static constexpr size_t kMostSampleBytes = 2048;
  /// From here on malloc maps an object of its own, and frees it whole.
  static constexpr size_t kMappedBytes = size_t{128} << 10;
  /// Holes that nobody minds: a sixty-fourth of our heap, and at least so much.
  static constexpr uint64_t kLeastBytes = uint64_t{256} << 10;
  static constexpr unsigned kShare = 64;
  /// So much freed at once may be whole pages, which malloc can give back.
  static constexpr uint64_t kLeastTrimBytes = uint64_t{2} << 20;

  /// A thread's own holes that nobody minds, how much of them it fills at a time, and how much of others'.
  static constexpr uint64_t kLeastOwnBytes = uint64_t{32} << 10, kMostOwnBytes = uint64_t{64} << 10,
                            kOthersBytes = uint64_t{16} << 10;

  /// An object of so many bytes has been freed there, one in kFreesPerSample. Returns for how many bytes it stands.
  uint64_t sampled_free(size_t bytes) {
    if (bytes >= kMappedBytes)
      return 0;
    const uint64_t stands_for = min_of(bytes, kMostSampleBytes) * kFreesPerSample;
    freed_.fetch_add(stands_for, std::memory_order_relaxed);
    note_size(bytes, stands_for);
    add(by_size_[fit_index(bytes)], static_cast<int64_t>(stands_for));
    add(bytes_, static_cast<int64_t>(stands_for));
    return stands_for;
  }
  /// Sites have asked for so much there, for objects that take such places.
  void filled(uint64_t bytes, size_t place) {
    add(bytes_, -static_cast<int64_t>(bytes));
    add(by_size_[fit_index(place)], -static_cast<int64_t>(bytes));
  }
  void given_back(uint64_t bytes);
  /// malloc has no hole that fits a site's objects of such a place, in the heap of one of so many threads. Who asked asks again
  /// when that much has been freed there in all (freed()): what others ask for may fit before.
  uint64_t no_place(uint64_t ours, unsigned threads, size_t place);

  /// Shall the sites go there now? `ours`: live bytes of our heap.
  bool wanted(uint64_t ours);
  /// A thread that has made so many bytes of holes: how much may it fill now? It went on (`again`) or not, and had no place
  /// until so much was freed in all. 0: nothing.
  uint64_t may_fill(uint64_t own, bool again, uint64_t no_place_until, uint64_t ours);
  /// Enough has been freed since the last time that asking malloc to give pages back is worth it.
  bool trim_is_due();
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  /// Has more of such places been freed there than filled: so much that a site may begin to fill them, or go on?
  bool fit(size_t place, uint64_t ours, bool again) const;
  /// Is what has lately been freed there mostly of one size, that of a request of so many bytes?
  bool are_of(size_t bytes) const;
  /// In all, as sampled.
  uint64_t freed() const { return freed_.load(std::memory_order_relaxed); }

private:
  static constexpr unsigned kSizes =
      10; ///< places of up to 24, 40, 56 ... bytes; larger ones together
  static constexpr unsigned kFitSizes = 64; ///< the same, up to 1016 bytes
  static constexpr uint64_t kLately = uint64_t{1} << 20;
  static void add(std::atomic<uint64_t> &to, int64_t bytes);
  /// Of a place (what malloc_usable_size says), as glibc has them; the last: others, which are of no size.
  static unsigned size_index(size_t place, unsigned sizes) {
    const size_t index = (max_of<size_t>(place, 24) - 24 + 15) / 16;
    return index < sizes - 1 ? static_cast<unsigned>(index) : sizes - 1;
  }
  static unsigned fit_index(size_t place) { return size_index(place, kFitSizes); }
  void note_size(size_t bytes, uint64_t stands_for);
  std::atomic<uint64_t> lately_[kSizes] = {}, all_lately_{0};
  std::atomic<uint64_t> by_size_[kFitSizes] = {};
  std::atomic<uint64_t> bytes_{0}, freed_{0}, after_trim_{0};
  std::atomic<bool> wanted_{false};
};

/// The process has one.
extern MallocHoles g_malloc_holes;

} // namespace smalloc
#endif
