// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// objects.cpp computes the packed layout: steps of 16 bytes, objects of a superpage or more at a
// border of one. With gib_borders, objects of a GiB or more begin at a border of a GiB. What is
// skipped there counts for no category.
#include "runtime/benefit/objects.h"

#include <algorithm>

namespace smalloc::benefit {
namespace {
constexpr uint64_t kGib = uint64_t{1} << 30, kSuperpage = uint64_t{2} << 20, kStep = 16,
                   kPaperLargeBytes = 128 << 10;
constexpr uint64_t kPaperStatic = 0, kPaperSmall = 1, kPaperLarge = 2;
uint64_t round_up(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }
} // namespace

uint32_t Objects::category_of(CategoryKind kind, uint64_t id, uint64_t context) {
  const auto [at, fresh] =
      numbers_.try_emplace({kind, id, context}, static_cast<uint32_t>(categories_.size()));
  if (fresh) {
    categories_.push_back({kind, id, context, 0, 0, 0, 0});
    heaps_.emplace_back();
  }
  return at->second;
}

void Objects::insert(uint32_t category, uint64_t address, uint64_t bytes) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 47;
  if (bytes == 0 || bytes > kMostBytes || address > UINT64_MAX - bytes)
    return;
  // Objects that overlap the new one are gone, though their free may not have been recorded.
  auto over = live_.upper_bound(address);
  if (over != live_.begin() && std::prev(over)->second.end > address)
    --over;
  while (over != live_.end() && over->first < address + bytes) {
    const uint64_t start = over->first;
    ++over;
    free(start);
  }
  Heap &heap = heaps_[category];
  heap.last = address;
  heap.end_before = heap.end;
  heap.gaps_before = heap.gaps;
  heap.peak_before = categories_[category].peak_bytes;
  heap.gib_pages_before = categories_[category].gib_pages;
  const uint64_t size = round_up(bytes, bytes >= kSuperpage ? kSuperpage : kStep);
  uint64_t packed;
  if (auto reuse = heap.free.find(size); reuse != heap.free.end() && !reuse->second.empty()) {
    packed = reuse->second.back();
    reuse->second.pop_back();
  } else {
    packed = bytes >= kSuperpage ? round_up(heap.end, kSuperpage) : heap.end;
    if (gib_borders_ && size >= kGib) {
      heap.gaps += round_up(packed, kGib) - packed;
      packed = round_up(packed, kGib);
      categories_[category].gib_pages += size / kGib;
    }
    heap.end = packed + size;
  }
  heap.live += bytes;
  Category &c = categories_[category];
  c.peak_bytes = std::max(c.peak_bytes, heap.live);
  c.heap_bytes = heap.end - heap.gaps;
  live_[address] = {address + bytes, packed, size, category};
  last_end_ = 0;
}

void Objects::segment(uint64_t id, uint64_t start, uint64_t bytes) {
  insert(grouping_ == Grouping::kPaper ? category_of(CategoryKind::kSizeClass, kPaperStatic)
                                       : category_of(CategoryKind::kStatic, id),
         start, bytes);
}

uint32_t Objects::category_of_allocation(uint64_t site, uint64_t bytes, uint64_t context) {
  if (grouping_ == Grouping::kPaper)
    return category_of(CategoryKind::kSizeClass,
                       bytes < kPaperLargeBytes ? kPaperSmall : kPaperLarge);
  if (grouping_ == Grouping::kObject && bytes >= kLeastObject && all_objects_ < kMostObjects) {
    all_objects_++;
    return category_of(CategoryKind::kObject, site, ++objects_of_[site]);
  }
  if (grouping_ == Grouping::kContext && context)
    return category_of(CategoryKind::kSiteContext, site, context);
  if (clusters_)
    if (const auto cluster = clusters_->find(site); cluster != clusters_->end())
      return category_of(CategoryKind::kCluster, cluster->second);
  return category_of(CategoryKind::kSite, site);
}

void Objects::allocate(uint64_t site, uint64_t address, uint64_t bytes, uint64_t context) {
  insert(category_of_allocation(site, bytes, context), address, bytes);
}

// Removes the object if it is the last one of its category and nothing of it was accessed. False:
// it was not removed.
bool Objects::was_never(Live at) {
  const auto [address, object] = *at;
  if (object.accessed)
    return false;
  Heap &heap = heaps_[object.category];
  if (heap.last != address)
    return false;
  Category &c = categories_[object.category];
  free(address);
  heap.last = kNowhere;
  if (heap.end != heap.end_before) { // it had extended the heap, not reused free room
    heap.free[object.heap_bytes].pop_back();
    heap.end = heap.end_before;
    heap.gaps = heap.gaps_before;
  }
  c.peak_bytes = heap.peak_before;
  c.gib_pages = heap.gib_pages_before;
  c.heap_bytes = heap.end - heap.gaps;
  return true;
}

// Shrinks the object to [address, address + bytes). Its whole room is reused when it is freed, as
// before. False: the object belongs to another category.
bool Objects::shrinks(Live at, uint32_t category, uint64_t address, uint64_t bytes) {
  const uint64_t old = at->first;
  if (at->second.category != category)
    return false;
  Object object = at->second;
  heaps_[category].live -= object.end - old - bytes;
  object.end = address + bytes;
  object.packed += address - old;
  object.front += address - old;
  live_.erase(at);
  live_[address] = object;
  last_end_ = 0;
  return true;
}

void Objects::reallocate(uint64_t old, uint64_t site, uint64_t address, uint64_t bytes,
                         uint64_t context) {
  constexpr uint64_t kPage = 4096;
  const auto at = live_.find(old);
  const bool same_object = at != live_.end() && bytes >= kLeastObject &&
                           categories_[at->second.category].kind == CategoryKind::kObject;
  const uint32_t category =
      same_object ? at->second.category : category_of_allocation(site, bytes, context);
  const bool inside = at != live_.end() && bytes != 0 && address >= old &&
                      bytes <= at->second.end - old &&
                      address - old <= at->second.end - old - bytes;
  const bool mapping = address % kPage == 0 && old % kPage == 0; // malloc has a header before its
                                                                 // objects
  if (inside && mapping && was_never(at))
    return insert(category, address, bytes);
  if (inside && shrinks(at, category, address, bytes))
    return;
  free(old);
  insert(category, address, bytes);
}

Objects::Freed Objects::free(uint64_t address) {
  const auto at = live_.find(address);
  if (at == live_.end())
    return {}; // allocated before the recording
  const Object &object = at->second;
  Heap &heap = heaps_[object.category];
  heap.live -= object.end - address;
  heap.free[object.heap_bytes].push_back(object.packed - object.front);
  const Freed gone = {object.end - address, object.category};
  live_.erase(at);
  last_end_ = 0;
  return gone;
}

Objects::Place Objects::find(uint64_t address) {
  if (address < last_start_ || address >= last_end_) {
    auto at = live_.upper_bound(address);
    if (at == live_.begin() || (--at)->second.end <= address)
      return {kNone, 0, false};
    at->second.accessed = true;
    last_start_ = at->first;
    last_end_ = at->second.end;
    last_ = at->second;
  }
  const uint64_t offset = address - last_start_;
  // n superpages of a heap are parts of at most n + 1 regions: 2n numbers are enough.
  const uint64_t begin = last_start_ - last_.front;
  const uint64_t region = last_.heap_bytes < kSuperpage
                              ? kSmall
                              : (last_.packed - last_.front) / kSuperpage * 2 +
                                    (address / kSuperpage - begin / kSuperpage);
  return {last_.category, last_.packed + offset,
          gib_borders_ && offset < (last_end_ - last_start_) / kGib * kGib, region};
}

} // namespace smalloc::benefit
