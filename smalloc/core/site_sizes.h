// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// site_sizes.h decides whether small objects of a site may be ours without costing memory or time:
// from the sizes that it has asked for last, 32 samples, one in 64 KiB. Three things speak against it:
//  - Slots and metadata that are larger than what the program's malloc would have taken: glibc keeps
//    8 bytes an object and rounds up to 16, wherever it lies; our classes are up to a quarter apart
//    from 128 bytes on, and an object of more than 14 KiB has its own pages.
//  - Sizes that vary. The hole that an object leaves fits objects of its class only, and a slab goes
//    back when its last object dies; glibc joins neighbours of any size. A drift of sizes
//    (benchmarks/bloat/churn) then costs a quarter more memory than there, and nothing given back
//    later would mend it: it must be known before.
//    It must also be known later on: a site that asks for one size for long and then for another, while what it
//    got first dies, leaves slabs that are mostly empty, and the other way round when it turns again. No sample tells that
//    beforehand, and once it has happened the slabs stay until their last objects die: a third more memory than glibc at most.
//    The compiler knows at which sites it may happen: those whose request is no constant. Of these only those pay whose
//    objects take so much less in our heap that slabs that are left behind are made up for. And what it has asked for so far must
//    have come again: lists that double in turns save half of their first bytes, and leave all of those behind.
//  - Siblings: another site asks for as many objects, of another class. A key, its value and the entry
//    that holds both lie side by side in glibc's heap, on two or three cache lines, and are used
//    together; we would put each of them on lines of its own (redis: 0.88 of its speed).
// Such sites stay with the program's malloc, whose heap gets its superpages in place
// (mapped_ranges.h). No locks: a sample lost to another thread is one sample less.
#ifndef SMALLOC_CORE_SITE_SIZES_H
#define SMALLOC_CORE_SITE_SIZES_H

#include "smalloc/base/units.h"
#include "smalloc/include/smalloc/site.h"

#include <atomic>

namespace smalloc {

/// The slot of the private jemalloc that holds so many bytes. REQUIRES: at most kMostSlotBytes.
size_t slot_bytes(size_t bytes);
inline constexpr size_t kMostSlotBytes = 14336;
bool has_slot(const size_t *slots, unsigned count, size_t slot);
/// What 64 objects cost when all of each is used, share of the metadata included: in our heap of small
/// objects, and in glibc's.
inline constexpr size_t kCostObjects = 64;
size_t our_cost_bytes(size_t bytes);
size_t glibc_cost_bytes(size_t bytes);
/// What malloc_usable_size says of one of so many bytes.
size_t glibc_place_bytes(size_t bytes);
/// Pages of the slab that slots of so many bytes come from: jemalloc's choice but where small_heap.cpp says otherwise.
size_t slab_pages(size_t slot);

/// What the compiler knows of a site's requests.
enum class Asks : uint8_t { kForOneSize, kForAnySize };
Asks asks_for(const smalloc_cell *cell);

class SiteSizes {
public:
  static constexpr unsigned kSites = 512, kSamples = 32, kSamplesPerLook = 8;
  static constexpr uint64_t kSampleBytes = uint64_t{1} << SMALLOC_CELL_LOOK_SHIFT; ///< 64 KiB
  /// Of all shared sites of a thread together. A prime: sizes that alternate must not put every sample at one of them.
  static constexpr uint64_t kSharedSampleBytes = 16381;
  /// Classes that a site's objects may mostly have, and how many of the samples are "mostly": a few
  /// structures from one allocating function are steady, names and messages are not. Where a fifth is saved, all up to
  /// 128 bytes count as one: lists that double from a few bytes on.
  static constexpr unsigned kSteadyClasses = 3, kSteadySamples = 28; ///< of kSamples
  /// Where any size may follow, what follows must be like what came before: sizes of up to 128 bytes in steps of 8, larger
  /// ones together. Looked at when the number of samples is a power of two, from kLeastHistory on: so many 64ths of the one
  /// half are like the other, to begin with or to go on; and of the last kSamples, like all until then. Lists that grow in
  /// turns, as a graph is built, double from half to half: what the small ones lay in would not be filled again. (By realloc that
  /// shows as growth, of which there must not be much. Sizes of objects that grow now and then need not have come again: those of
  /// a SAT solver's watch lists never do, and take a tenth of the process less in our heap.) And of one size
  /// no more than so many 64ths, to begin with: who has asked for nothing else may still be at its first half.
  static constexpr unsigned kKinds = 17, kLeastHistory = 512;
  static constexpr unsigned kAlike64ths = 50, kStillAlike64ths = 36, kLately64ths = 32,
                            kOneKind64ths = 51;
  /// In thousandths of glibc's. Where any size may follow: objects of up to 16, of 25 to 32 and of 41 to 48 bytes.
  static constexpr uint64_t kMostCost = 1020, kMostCostOfAny = 800;
  /// Sizes that a site has asked for mostly, and no longer does, that are remembered.
  static constexpr unsigned kBefore = 4;
  static constexpr unsigned kGoneSamples = kSamples / 8; ///< fewer: no longer
  /// Looks of all sites without a sample of one that is silent; what our heap grows by at least, and by which share.
  static constexpr uint32_t kSilentLooks = 4;
  static constexpr uint64_t kLeastGrowthBytes = uint64_t{1} << 20, kGrowthShare = 32;
  /// As many objects: within an eighth. A site with fewer samples has no number of objects yet.
  static constexpr unsigned kAlikeShare = 8, kLeastSamples = 8;

  /// Is a request that takes a site from so many bytes to so many a sample?
  static bool is_sample(uint64_t before, uint64_t after) {
    return (before ^ after) / kSampleBytes != 0;
  }
  /// A request of so many bytes, one in `apart` bytes of the site's, by this thread. True at every eighth: time to ask
  /// whether it pays.
  bool sample(const smalloc_cell *cell, size_t bytes, uint64_t apart, const void *thread);
  /// Did several threads come with the site's samples?
  bool is_shared(const smalloc_cell *cell) const;
  /// Where the heap of the program's malloc ended, and what the site had asked for, when the site was first looked at, or last
  /// left after a look.
  struct HeapThen {
    uintptr_t end = 0; ///< 0: not known
    uint64_t requested = 0;
  };
  void began(const smalloc_cell *cell, uintptr_t heap_end); ///< kept from the first call on
  void left(const smalloc_cell *cell, HeapThen now);
  HeapThen heap_then(const smalloc_cell *cell) const;
  /// The site was served, and now fills malloc's holes (malloc_holes.h).
  void set_filling(const smalloc_cell *cell, bool filling);
  bool is_filling(const smalloc_cell *cell) const;
  /// None of them fits until so much has been freed there.
  void set_no_place(const smalloc_cell *cell, uint64_t until_freed);
  uint64_t no_place_until(const smalloc_cell *cell) const;
  /// Slots that most requests of the site once fitted, and hardly any does now. Returns how many. Only what was so when it was
  /// asked is remembered: at each look at a site that is served.
  unsigned sizes_before(const smalloc_cell *cell, size_t (&slots)[kBefore]);
  /// Objects of those sizes have died and left room: the site's sizes alternate, and it pays no longer, for good.
  void set_alternates(const smalloc_cell *cell);
  /// The site asks while slabs of these slots have much room, and our heap has so many bytes. Where its own slots have none, a
  /// site that mostly asked for one of these has fallen silent, and the heap has grown since it had no room anywhere, the two
  /// take turns: glibc would have joined the holes of the one for the other. Neither pays any longer, for good.
  void asks_beside(const smalloc_cell *cell, const size_t *roomy, unsigned count,
                   uint64_t heap_bytes);
  /// Objects of the site have grown by so much, by realloc. Returns what it is time to count, a multiple of kSampleBytes; 0
  /// as well where there is no room for the site.
  uint64_t grown_by(const smalloc_cell *cell, uint64_t bytes);
  /// The last sample was growth of an object by realloc.
  void grew(const smalloc_cell *cell);
  /// False: it costs memory; also as long as fewer than two are known, and when most of what was asked for is
  /// growth of objects: those would move to us and leave holes.
  bool pays(const smalloc_cell *cell, Asks asks) const;
  /// Does the site go on asking for the sizes that it began with? False as well as long as little is known.
  bool recurs(const smalloc_cell *cell) const;
  /// What all sites have asked for, as the samples say, in glibc's places with their heads.
  uint64_t places() const { return places_.load(std::memory_order_relaxed); }
  /// Does another site ask for as many objects, of another class?
  bool has_sibling(const smalloc_cell *cell) const;

private:
  struct Site {
    std::atomic<const smalloc_cell *> cell{nullptr};
    std::atomic<const void *> thread{nullptr}; ///< that came first
    std::atomic<bool> shared{false}, filling{false}, alternates{false};
    std::atomic<uint32_t> most{0}, before[kBefore - 1] = {}; ///< slots; 0: none
    std::atomic<uint32_t> asked_at{0};                       ///< of looks_
    std::atomic<uint64_t> grew_from{0}; ///< bytes of our heap when there was no room; 0: not known
    std::atomic<uint64_t> no_place_until{0};
    std::atomic<uintptr_t> heap_end{0};
    std::atomic<uint64_t> requested{0}; ///< when it ended there; 0: at first
    std::atomic<uint32_t> seen{0};
    std::atomic<uint32_t> bytes[kSamples] = {};
    std::atomic<uint32_t> grown{0};  ///< of those seen
    std::atomic<uint64_t> growth{0}; ///< bytes by realloc that are not counted yet
    std::atomic<uint32_t> kinds_before[kKinds] =
        {}; ///< samples up to the last power of two of them,
    std::atomic<uint32_t> kinds_since[kKinds] = {}; ///< and after it
    std::atomic<bool> recurs{false};
    std::atomic<uint64_t> objects{0}; ///< all that were asked for, as the samples say
  };
  size_t last_slot(const Site &site) const;
  const Site *find(const smalloc_cell *cell) const;    ///< where it is, or would be
  const Site *sampled(const smalloc_cell *cell) const; ///< nullptr: it has not been sampled
  Site *sampled(const smalloc_cell *cell);
  Site *entered(const smalloc_cell *cell); ///< from now on it is; nullptr: no room
  static void note_kind(Site &site, size_t bytes, uint32_t seen);
  static unsigned samples_of(const Site &site, size_t slot);
  static void note_most(Site &site);
  Site sites_[kSites];
  std::atomic<uint64_t> places_{0};
  std::atomic<uint32_t> looks_{0};
};

/// The process has one.
extern SiteSizes g_site_sizes;

} // namespace smalloc
#endif
