// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// big_reuse.cpp keeps units of freed big objects for later objects, and releases the others.
#include "smalloc/big/big_objects.h"
#include "smalloc/process/process_memory.h"

namespace smalloc {
namespace {
/// Freed objects above this size and above half of the cache are released at once. glibc, too,
/// releases an mmapped chunk above M_MMAP_THRESHOLD_MAX.
constexpr uint64_t kMostKeptObjectBytes = uint64_t{32} << 20;
/// Memory of the process outside the heaps, which may hide that their objects are untouched.
constexpr uint64_t kPeakSlackBytes = uint64_t{2} << 20;
} // namespace

uint64_t BigObjects::most_kept_of_one() const {
  return max_of(kMostKeptObjectBytes, config_.cache_bytes / 2);
}

/// Returns what may be kept without a proof.
uint64_t BigObjects::unproven_limit() const {
  return max_of<uint64_t>(region_->counters().big_bytes_peak.get() / 50, 512u << 10);
}
uint64_t BigObjects::cache_limit() const {
  return min_of(config_.cache_bytes, max_of(unproven_limit(), cache_.proven_bytes));
}

/// True if the process' memory may exceed its peak when these units are kept, since the program has
/// not touched all of its objects yet: it touches them without another request, before which kept
/// units could be evicted. Costs four system calls where more is to be kept than at the last look.
/// Costs more if the bytes in use and the kept ones would exceed the peak. Precondition: lock_ is
/// held.
bool BigObjects::raises_peak(const Area &a, UnitIndex first, uint64_t bytes) {
  const uint64_t kept = cache_.kept_bytes + bytes;
  if (kept <= max_of(cache_.checked_bytes, unproven_limit()))
    return false;
  const uint64_t resident = process_memory(region_->os()).anonymous_bytes;
  if (!resident)
    return false; // not known
  const Counters &c = region_->counters();
  cache_.resident_peak = max_of(cache_.resident_peak, resident);
  const uint64_t most = cache_.resident_peak + max_of(cache_.resident_peak / 50, kPeakSlackBytes);
  const uint64_t rest = c.big_bytes_now.get() + c.small_bytes_now.get() + cache_.kept_bytes;
  // Untouched pages of the freed object cost nothing.
  if (rest + bytes > most &&
      rest + region_->os().resident_pages(address(a, first), bytes) * kBasePageBytes > most)
    return true;
  cache_.checked_bytes = kept;
  return false;
}

/// Returns the shortest kept run of at least `whole` units; kRuns: there is none. Precondition:
/// lock_ is held.
unsigned BigObjects::find_kept(unsigned index, UnitIndex whole) const {
  unsigned best = UnitCache::kRuns;
  for (unsigned i = 0; i < cache_.size; i++) {
    const UnitCache::Run &run = cache_.runs[i];
    if (run.slice != index || run.count < whole)
      continue;
    if (best == UnitCache::kRuns || run.count < cache_.runs[best].count ||
        (run.count == cache_.runs[best].count && run.tail_bytes > cache_.runs[best].tail_bytes))
      best = i;
  }
  return best;
}

/// Releases the kept tail of a run from `bytes` on. Precondition: lock_ is held.
void BigObjects::cut_tail(UnitCache::Run &run, uint32_t bytes) {
  if (run.tail_bytes <= bytes)
    return;
  Area &a = areas_[run.slice];
  region_->decommit(a.slice, address(a, run.first + run.count) + bytes,
                    (bytes ? run.tail_bytes : kSuperpageBytes) - bytes);
  region_->counters().pages_released.add((run.tail_bytes - bytes) / kBasePageBytes);
  if (bytes == 0)
    a.map.give_back(run.first + run.count, 1);
  cache_.kept_bytes -= run.tail_bytes - bytes;
  run.tail_bytes = bytes;
}

/// Returns units for an object of which the first `whole` were kept, with their old contents and
/// their charge; kNoUnit: there are none. `tail_bytes`: in: the bytes of the object's tail; out:
/// how many of them were kept with the units. Precondition: lock_ is held.
UnitIndex BigObjects::take_kept(unsigned index, UnitIndex units, UnitIndex whole,
                                uint32_t &tail_bytes) {
  const uint32_t wanted = tail_bytes;
  tail_bytes = 0;
  const auto prove_tail = [&] {
    if (cache_.missed_bytes < wanted)
      return;
    cache_.missed_bytes -= wanted;
    cache_.proven_bytes = min_of(config_.cache_bytes, cache_.proven_bytes + wanted);
  };
  const unsigned best = find_kept(index, whole);
  if (best == UnitCache::kRuns)
    return kNoUnit;
  Area &a = areas_[index];
  UnitCache::Run &run = cache_.runs[best];
  UnitIndex first = run.first;
  // The tail behind the whole units takes a kept unit, whose old contents are released, or a free
  // one.
  bool tail = units > whole;
  if (run.count == whole && run.tail_bytes != 0) {
    // Programs mostly replace objects by others of the same size: then nothing is cut.
    cut_tail(run, wanted);
    tail_bytes = run.tail_bytes;
    cache_.kept_bytes -= tail_bytes;
    run.tail_bytes = 0;
    tail = false;
  } else if (run.count == whole && tail) {
    if (!a.map.take_at(first + run.count, units - whole))
      return kNoUnit;
    prove_tail();
  }
  UnitIndex used = min_of(run.count, units);
  if (tail && used > whole) {
    region_->decommit(a.slice, address(a, first + whole), kSuperpageBytes);
    region_->demoted(address(a, first + whole), kSuperpageBytes,
                     clear_superpages(a, first + whole, 1));
    region_->counters().pages_released.add(kPagesPerUnit);
  }
  cache_.kept_bytes -= uint64_t{used} * kSuperpageBytes;
  run.first += used;
  run.count -= used;
  if (run.count == 0) {
    cut_tail(run, 0);
    run = cache_.runs[--cache_.size];
  }
  region_->counters().units_reused.add(whole);
  return first;
}

/// Precondition: lock_ is held. Unlocks it for a while.
UnitIndex BigObjects::take_fresh(Area &a, UnitIndex units, UnitIndex whole, UnitIndex alignment) {
  uint64_t bytes = uint64_t{whole} * kSuperpageBytes;
  cache_.checked_bytes = 0;
  if (cache_.missed_bytes >= bytes && bytes <= most_kept_of_one()) {
    cache_.missed_bytes -= bytes;
    cache_.proven_bytes = min_of(config_.cache_bytes, cache_.proven_bytes + bytes);
  }
  make_room_beside_kept(bytes);
  return a.map.take(units, alignment);
}

/// Evicts kept units that do not fit the new object, so that they do not raise the memory peak.
/// Precondition: lock_ is held. Unlocks it for a while.
void BigObjects::make_room_beside_kept(uint64_t bytes) {
  const uint64_t after = region_->counters().big_bytes_now.get() + cache_.kept_bytes + bytes;
  const uint64_t peak = region_->counters().big_bytes_peak.get();
  if (cache_.size && after > peak)
    evict_beyond(cache_.kept_bytes - min_of(cache_.kept_bytes, after - peak));
}

UnitIndex BigObjects::clear_superpages(Area &a, UnitIndex first, UnitIndex count) {
  UnitIndex cleared = 0;
  for (UnitIndex i = first; i < first + count; i++) {
    cleared += is_superpage(a, i);
    set_superpage(a, i, false);
  }
  return cleared;
}

/// Returns units to the kernel and to the map. `bytes_used`: committed bytes from the first unit
/// on. Precondition: lock_ is held. Unlocks it while the kernel frees the pages, which takes long
/// for a gigabyte. Until the map marks the units free, no other thread can get them.
void BigObjects::drop(Area &a, UnitIndex first, UnitIndex count, size_t bytes_used) {
  UnitIndex promoted = clear_superpages(a, first, count);
  lock_.unlock();
  // Whole units: a page table that the kernel keeps for a part of a unit would refuse superpages to
  // the next object there.
  if (bytes_used)
    region_->decommit(a.slice, address(a, first), align_up(bytes_used, kSuperpageBytes));
  region_->demoted(address(a, first), size_t{count} * kSuperpageBytes, promoted);
  lock_.lock();
  region_->counters().pages_released.add(bytes_used / kBasePageBytes);
  a.map.give_back(first, count);
}

/// Releases the kept run number `which`. Precondition: lock_ is held. Unlocks it for a while: the
/// cache may have changed on return. REQUIRES: some run is kept.
void BigObjects::evict(unsigned which) {
  UnitCache::Run run = cache_.runs[which];
  for (unsigned i = which + 1; i < cache_.size; i++)
    cache_.runs[i - 1] = cache_.runs[i];
  cache_.size--;
  const uint64_t bytes = run.bytes();
  cache_.kept_bytes -= bytes;
  cache_.missed_bytes = min_of(cache_.missed_bytes + bytes, config_.cache_bytes);
  drop(areas_[run.slice], run.first, run.units(), bytes);
}

/// Evicts the oldest run with kept superpages: a live claimant needs `needed` superpages, and the
/// budget has no room. Does so only if all kept superpages together would be enough. False: they
/// would not, or none is kept. Precondition: lock_ is held. Unlocks it for a while.
bool BigObjects::evict_superpages(UnitIndex needed) {
  unsigned oldest = cache_.size;
  uint64_t kept = 0;
  for (unsigned i = cache_.size; i-- > 0;) {
    const UnitCache::Run &run = cache_.runs[i];
    uint64_t superpages = 0;
    for (UnitIndex k = 0; k < run.count; k++)
      superpages += is_superpage(areas_[run.slice], run.first + k);
    if (superpages)
      oldest = i;
    kept += superpages;
  }
  if (kept == 0 || (needed > kept && needed - kept > region_->superpages_left()))
    return false;
  evict(oldest);
  return true;
}

void BigObjects::evict_beyond(uint64_t limit) {
  while (cache_.size && cache_.kept_bytes > limit)
    evict_oldest();
}

void BigObjects::release_units(Area &a, UnitIndex first, UnitIndex count, size_t bytes_used,
                               bool keep) {
  auto whole = static_cast<UnitIndex>(bytes_used / kSuperpageBytes);
  uint64_t whole_bytes = uint64_t{whole} * kSuperpageBytes;
  uint64_t limit = cache_limit();
  const uint64_t most = most_kept_of_one();
  if (!keep || whole == 0 || whole_bytes > most || whole_bytes > limit ||
      raises_peak(a, first, whole_bytes)) {
    if (keep && whole_bytes <= most)
      cache_.missed_bytes = min_of(cache_.missed_bytes + whole_bytes, config_.cache_bytes);
    drop(a, first, count, bytes_used);
    return;
  }
  // The same program may allocate this size again. Releasing the tail would then cost a fault per
  // page each time.
  uint32_t tail_bytes = count == whole + 1 && !is_superpage(a, first + whole)
                            ? static_cast<uint32_t>(bytes_used - whole_bytes)
                            : 0;
  if (bytes_used > limit) {
    cache_.missed_bytes = min_of(cache_.missed_bytes + tail_bytes, config_.cache_bytes);
    tail_bytes = 0;
  }
  const UnitIndex kept = whole + (tail_bytes != 0);
  if (count > kept)
    drop(a, first + kept, count - kept, bytes_used - whole_bytes);
  // Require room in the table and in bytes at the same time: other threads keep units during an
  // eviction.
  while (cache_.size == UnitCache::kRuns ||
         (cache_.size && cache_.kept_bytes > limit - whole_bytes - tail_bytes))
    evict_oldest();
  cache_.runs[cache_.size++] = {first, whole, static_cast<uint8_t>(&a == &areas_[kSuper]),
                                tail_bytes};
  cache_.kept_bytes += whole_bytes + tail_bytes;
}

size_t BigObjects::trim() {
  SpinGuard guard(lock_);
  uint64_t kept = cache_.kept_bytes;
  evict_beyond(0);
  return kept;
}

} // namespace smalloc
