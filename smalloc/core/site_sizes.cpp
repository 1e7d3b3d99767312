// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// site_sizes.cpp decides what an object costs: jemalloc's size classes and slabs, its metadata of 128
// bytes a slab or large object and 8 a page, and the start of large objects, which it staggers within
// a page; glibc's chunks, and its mappings from 128 KiB on.
#include "smalloc/core/site_sizes.h"

#include <limits.h>

namespace smalloc {

constinit SiteSizes g_site_sizes;

namespace {
constexpr size_t kLeastStep = 16, kEvenSteps = 128,
                 kKindStep = kEvenSteps / (SiteSizes::kKinds - 1);
constexpr size_t kExtentBytes = 128, kPageEntryBytes = 8;
constexpr size_t kChunkHeader = 8, kLeastChunk = 32, kMappingHeader = 16;
constexpr size_t kMappedFrom = size_t{128} << 10;
constexpr size_t kMostSlots = 512; ///< of a slab
/// As jepriv_malloc_conf has them.
constexpr size_t kSlabPagesOfTheSmallest = 8, kSlabPagesOfPowers = 4, kSlabPagesOfPages = 2;
} // namespace

size_t slot_bytes(size_t bytes) {
  if (bytes <= kEvenSteps)
    return align_up(max_of<size_t>(bytes, 1), kLeastStep);
  // Four classes between one power of two and the next.
  return align_up(bytes, (size_t{1} << (63 - __builtin_clzll(bytes - 1))) / 4);
}

bool has_slot(const size_t *slots, unsigned count, size_t slot) {
  bool has = false;
  for (unsigned i = 0; i < count; i++)
    has |= slots[i] == slot;
  return has;
}

size_t slab_pages(size_t slot) {
  if (slot <= kEvenSteps)
    return min_of(kSlabPagesOfTheSmallest, kMostSlots * slot / kBasePageBytes);
  if (slot == kBasePageBytes)
    return kSlabPagesOfPages;
  if (is_power_of_two(slot) && slot < kBasePageBytes)
    return kSlabPagesOfPowers;
  size_t pages = 1;
  while (pages * kBasePageBytes % slot)
    pages++;
  return pages;
}

size_t our_cost_bytes(size_t bytes) {
  if (bytes > kMostSlotBytes) { // on average one page more than its bytes fill
    size_t pages = (bytes + kBasePageBytes) / kBasePageBytes;
    return (bytes + kBasePageBytes + kExtentBytes + pages * kPageEntryBytes) * kCostObjects;
  }
  size_t slot = slot_bytes(bytes), pages = slab_pages(slot);
  size_t slots = pages * kBasePageBytes / slot;
  size_t slab = pages * (kBasePageBytes + kPageEntryBytes) + kExtentBytes;
  return slab * kCostObjects / slots;
}

size_t glibc_cost_bytes(size_t bytes) {
  if (bytes >= kMappedFrom)
    return align_up(bytes + kMappingHeader, kBasePageBytes) * kCostObjects;
  return max_of(align_up(bytes + kChunkHeader, kLeastStep), kLeastChunk) * kCostObjects;
}

size_t glibc_place_bytes(size_t bytes) {
  return glibc_cost_bytes(bytes) / kCostObjects - kChunkHeader;
}

Asks asks_for(const smalloc_cell *cell) {
  if (cell->site_offset == 0) // hints: no descriptor
    return Asks::kForOneSize;
  const auto *site = reinterpret_cast<const smalloc_site *>(reinterpret_cast<const char *>(cell) +
                                                            cell->site_offset);
  return site->magic == SMALLOC_SITE_MAGIC && (site->flags & SMALLOC_SITE_ANY_SIZE)
             ? Asks::kForAnySize
             : Asks::kForOneSize;
}

const SiteSizes::Site *SiteSizes::find(const smalloc_cell *cell) const {
  auto at = reinterpret_cast<uintptr_t>(cell) / sizeof(smalloc_cell);
  for (unsigned i = 0; i < kSites; i++) {
    const Site &s = sites_[(at + i) % kSites];
    const smalloc_cell *there = s.cell.load(std::memory_order_relaxed);
    if (there == cell || !there)
      return &s;
  }
  return nullptr;
}

const SiteSizes::Site *SiteSizes::sampled(const smalloc_cell *cell) const {
  const Site *s = find(cell);
  return s && s->cell.load(std::memory_order_relaxed) == cell ? s : nullptr;
}
SiteSizes::Site *SiteSizes::sampled(const smalloc_cell *cell) {
  return const_cast<Site *>(static_cast<const SiteSizes *>(this)->sampled(cell));
}

SiteSizes::Site *SiteSizes::entered(const smalloc_cell *cell) {
  auto *s = const_cast<Site *>(find(cell));
  const smalloc_cell *none = nullptr;
  return s && (s->cell.load(std::memory_order_relaxed) == cell ||
               s->cell.compare_exchange_strong(none, cell, std::memory_order_relaxed))
             ? s
             : nullptr;
}

bool SiteSizes::sample(const smalloc_cell *cell, size_t bytes, uint64_t apart, const void *thread) {
  Site *s = entered(cell);
  if (!s)
    return false;
  const void *nobody = nullptr;
  if (s->thread.load(std::memory_order_relaxed) != thread &&
      !s->thread.compare_exchange_strong(nobody, thread, std::memory_order_relaxed))
    s->shared.store(true, std::memory_order_relaxed);
  uint32_t n = s->seen.fetch_add(1, std::memory_order_relaxed);
  note_kind(*s, bytes, n + 1);
  const uint64_t objects = max_of<uint64_t>(apart / max_of<size_t>(bytes, 1), 1);
  s->objects.fetch_add(objects, std::memory_order_relaxed);
  places_.fetch_add(objects * (glibc_place_bytes(bytes) + sizeof(size_t)),
                    std::memory_order_relaxed);
  s->bytes[n % kSamples].store(static_cast<uint32_t>(min_of<size_t>(bytes, kSuperpageBytes)),
                               std::memory_order_relaxed);
  const bool looks = (n + 1) % kSamplesPerLook == 0;
  if (looks)
    looks_.fetch_add(1, std::memory_order_relaxed);
  s->asked_at.store(looks_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  return looks;
}

/// 0: no slab's.
static size_t slot_of_sample(const std::atomic<uint32_t> &sample) {
  const size_t bytes = sample.load(std::memory_order_relaxed);
  return bytes <= kMostSlotBytes ? slot_bytes(bytes) : 0;
}

static unsigned kind_of(size_t bytes) {
  return static_cast<unsigned>(min_of(max_of<size_t>(bytes, 1) - 1, kEvenSteps) /
                               kKindStep); // the last: larger
}
/// Of 64 samples of the one kind of sizes, how many does the other have as well, as shares of all?
template <class One, class Other> static unsigned alike_64ths(const One &one, const Other &other) {
  uint64_t in_one = 0, in_other = 0, both = 0;
  for (unsigned i = 0; i < SiteSizes::kKinds; i++) {
    in_one += one[i];
    in_other += other[i];
  }
  if (in_one == 0 || in_other == 0)
    return 0;
  for (unsigned i = 0; i < SiteSizes::kKinds; i++)
    both += min_of(one[i] * in_other, other[i] * in_one);
  return static_cast<unsigned>(both * 64 / (in_one * in_other));
}

void SiteSizes::note_kind(Site &site, size_t bytes, uint32_t seen) {
  site.kinds_since[kind_of(bytes)].fetch_add(1, std::memory_order_relaxed);
  if (seen < kLeastHistory / 2 || !is_power_of_two(seen))
    return;
  const unsigned alike = alike_64ths(site.kinds_before, site.kinds_since);
  uint32_t all = 0, most = 0;
  for (unsigned i = 0; i < kKinds; i++) {
    const uint32_t since = site.kinds_since[i].exchange(0, std::memory_order_relaxed);
    const uint32_t both = site.kinds_before[i].fetch_add(since, std::memory_order_relaxed) + since;
    all += both;
    most = max_of(most, both);
  }
  const bool recurs = site.recurs.load(std::memory_order_relaxed)
                          ? alike >= kStillAlike64ths
                          : seen >= kLeastHistory && alike >= kAlike64ths &&
                                most * uint64_t{64} <= all * uint64_t{kOneKind64ths};
  site.recurs.store(recurs, std::memory_order_relaxed);
}

bool SiteSizes::recurs(const smalloc_cell *cell) const {
  const Site *s = sampled(cell);
  if (!s || !s->recurs.load(std::memory_order_relaxed))
    return false;
  uint32_t lately[kKinds] = {};
  for (const auto &sample : s->bytes)
    lately[kind_of(sample.load(std::memory_order_relaxed))]++;
  return alike_64ths(s->kinds_before, lately) >= kLately64ths;
}

unsigned SiteSizes::samples_of(const Site &site, size_t slot) {
  unsigned n = 0;
  for (const auto &sample : site.bytes)
    n += slot_of_sample(sample) == slot;
  return n;
}

/// All samples are known: is there a slot that most of them fit, and is it another one than before? One that most fit is what
/// is left when each takes one of another slot away (Boyer and Moore, 1991).
void SiteSizes::note_most(Site &site) {
  size_t most = 0;
  unsigned left = 0;
  for (const auto &sample : site.bytes) {
    const size_t slot = slot_of_sample(sample);
    if (left == 0)
      most = slot;
    left += slot == most ? 1u : UINT_MAX;
  }
  const uint32_t was = site.most.load(std::memory_order_relaxed);
  if (most == 0 || most == was || samples_of(site, most) <= kSamples / 2)
    return;
  site.most.store(static_cast<uint32_t>(most), std::memory_order_relaxed);
  // The latest comes first; each stands there once.
  for (uint32_t taken = was; auto &slot : site.before) {
    const uint32_t next = slot.exchange(taken, std::memory_order_relaxed);
    if (next == was)
      break;
    taken = next;
  }
}

unsigned SiteSizes::sizes_before(const smalloc_cell *cell, size_t (&slots)[kBefore]) {
  Site *s = sampled(cell);
  if (!s || s->seen.load(std::memory_order_relaxed) < kSamples)
    return 0;
  note_most(*s);
  unsigned n = 0;
  auto add = [&](const std::atomic<uint32_t> &slot) {
    const size_t b = slot.load(std::memory_order_relaxed);
    if (b && samples_of(*s, b) < kGoneSamples)
      slots[n++] = b;
  };
  add(s->most); // nothing has followed that most are of
  for (const auto &slot : s->before)
    add(slot);
  return n;
}
void SiteSizes::set_alternates(const smalloc_cell *cell) {
  if (Site *s = sampled(cell))
    s->alternates.store(true, std::memory_order_relaxed);
}

void SiteSizes::asks_beside(const smalloc_cell *cell, const size_t *roomy, unsigned count,
                            uint64_t heap_bytes) {
  Site *own = sampled(cell);
  if (!own)
    return;
  const uint32_t most = own->most.load(std::memory_order_relaxed);
  const uint64_t from = own->grew_from.load(std::memory_order_relaxed);
  if (count == 0 || from == 0 || heap_bytes < from)
    return own->grew_from.store(heap_bytes, std::memory_order_relaxed);
  if (most == 0 || has_slot(roomy, count, most) ||
      heap_bytes - from < max_of(kLeastGrowthBytes, from / kGrowthShare))
    return;
  for (Site &other : sites_) {
    const uint32_t silent =
        looks_.load(std::memory_order_relaxed) - other.asked_at.load(std::memory_order_relaxed);
    if (!has_slot(roomy, count, other.most.load(std::memory_order_relaxed)) ||
        silent < kSilentLooks)
      continue;
    own->alternates.store(true, std::memory_order_relaxed);
    other.alternates.store(true, std::memory_order_relaxed);
  }
}

bool SiteSizes::is_shared(const smalloc_cell *cell) const {
  const Site *s = sampled(cell);
  return s && s->shared.load(std::memory_order_relaxed);
}

void SiteSizes::began(const smalloc_cell *cell, uintptr_t heap_end) {
  Site *s = sampled(cell);
  uintptr_t unknown = 0;
  if (s)
    s->heap_end.compare_exchange_strong(unknown, heap_end, std::memory_order_relaxed);
}
SiteSizes::HeapThen SiteSizes::heap_then(const smalloc_cell *cell) const {
  const Site *s = sampled(cell);
  return s ? HeapThen{s->heap_end.load(std::memory_order_relaxed),
                      s->requested.load(std::memory_order_relaxed)}
           : HeapThen{};
}
void SiteSizes::left(const smalloc_cell *cell, HeapThen now) {
  Site *s = sampled(cell);
  if (!s)
    return;
  s->heap_end.store(now.end, std::memory_order_relaxed);
  s->requested.store(now.requested, std::memory_order_relaxed);
}

void SiteSizes::set_filling(const smalloc_cell *cell, bool filling) {
  Site *s = sampled(cell);
  if (s)
    s->filling.store(filling, std::memory_order_relaxed);
}
bool SiteSizes::is_filling(const smalloc_cell *cell) const {
  const Site *s = sampled(cell);
  return s && s->filling.load(std::memory_order_relaxed);
}
void SiteSizes::set_no_place(const smalloc_cell *cell, uint64_t until_freed) {
  Site *s = sampled(cell);
  if (s)
    s->no_place_until.store(until_freed, std::memory_order_relaxed);
}
uint64_t SiteSizes::no_place_until(const smalloc_cell *cell) const {
  const Site *s = sampled(cell);
  return s ? s->no_place_until.load(std::memory_order_relaxed) : 0;
}

uint64_t SiteSizes::grown_by(const smalloc_cell *cell, uint64_t bytes) {
  Site *s = entered(cell);
  if (!s)
    return 0;
  const uint64_t all = s->growth.load(std::memory_order_relaxed) + bytes;
  s->growth.store(all % kSampleBytes, std::memory_order_relaxed);
  return all - all % kSampleBytes;
}
void SiteSizes::grew(const smalloc_cell *cell) {
  Site *s = sampled(cell);
  if (s)
    s->grown.fetch_add(1, std::memory_order_relaxed);
}

bool SiteSizes::pays(const smalloc_cell *cell, Asks asks) const {
  const Site *s = sampled(cell);
  if (!s)
    return false;
  const uint32_t seen = s->seen.load(std::memory_order_relaxed);
  const unsigned known = min_of(seen, uint32_t{kSamples});
  if (s->alternates.load(std::memory_order_relaxed))
    return false;
  const uint32_t grown = s->grown.load(std::memory_order_relaxed);
  if (known < 2 || grown >= (seen + 1) / 2)
    return false;
  if (asks == Asks::kForAnySize && grown == 0 && !recurs(cell))
    return false;
  uint64_t ours = 0, theirs = 0;
  for (unsigned i = 0; i < known; i++) {
    size_t bytes = max_of<size_t>(s->bytes[i].load(std::memory_order_relaxed), 1);
    // A sample stands for as many bytes as any other, so for more objects the smaller they are.
    ours += our_cost_bytes(bytes) * kSampleBytes / bytes;
    theirs += glibc_cost_bytes(bytes) * kSampleBytes / bytes;
  }
  if (ours * 1000 > theirs * (asks == Asks::kForOneSize ? kMostCost : kMostCostOfAny))
    return false;
  // Where so much is saved, holes of a few small classes are made up for, too.
  const size_t one_class = ours * 1000 <= theirs * kMostCostOfAny ? kEvenSteps : 0;
  size_t slot[kSamples];
  for (unsigned i = 0; i < known; i++) {
    const size_t bytes = s->bytes[i].load(std::memory_order_relaxed);
    // Extents of large objects are split and joined: one class.
    slot[i] = bytes > kMostSlotBytes ? SIZE_MAX : slot_bytes(max_of(bytes, one_class));
  }
  unsigned steady = 0;
  for (unsigned taken = 0; taken < kSteadyClasses; taken++) {
    size_t most_slot = 0;
    unsigned most = 0;
    for (unsigned i = 0; i < known; i++) {
      unsigned same = 0;
      for (unsigned k = 0; slot[i] && k < known; k++)
        same += slot[k] == slot[i];
      if (same > most) {
        most = same;
        most_slot = slot[i];
      }
    }
    steady += most;
    for (unsigned i = 0; i < known; i++)
      if (slot[i] == most_slot)
        slot[i] = 0; // counted
  }
  return steady * kSamples >= kSteadySamples * known;
}

size_t SiteSizes::last_slot(const Site &site) const {
  uint32_t seen = site.seen.load(std::memory_order_relaxed);
  size_t bytes = site.bytes[(seen - 1) % kSamples].load(std::memory_order_relaxed);
  return bytes > kMostSlotBytes ? SIZE_MAX : slot_bytes(bytes);
}

bool SiteSizes::has_sibling(const smalloc_cell *cell) const {
  const Site *own = find(cell);
  if (!own || own->cell.load(std::memory_order_relaxed) != cell ||
      own->seen.load(std::memory_order_relaxed) < kLeastSamples)
    return false;
  const uint64_t objects = own->objects.load(std::memory_order_relaxed);
  for (const Site &other : sites_) {
    if (&other == own || other.seen.load(std::memory_order_relaxed) < kLeastSamples)
      continue;
    const uint64_t others = other.objects.load(std::memory_order_relaxed);
    const uint64_t apart = objects > others ? objects - others : others - objects;
    if (apart <= objects / kAlikeShare && last_slot(other) != last_slot(*own))
      return true;
  }
  return false;
}

} // namespace smalloc
