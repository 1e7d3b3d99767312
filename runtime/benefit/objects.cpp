// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// objects.cpp decides the packed layout: 16-byte steps, objects of a superpage and more at a border of one;
// those of a GiB at a border of a GiB where that is asked for. What is skipped there is not counted as anybody's.
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
  // Whatever was there is gone, though we may not have been told.
  auto over = live_.upper_bound(address);
  if (over != live_.begin() && std::prev(over)->second.end > address)
    --over;
  while (over != live_.end() && over->first < address + bytes) {
    const uint64_t start = over->first;
    ++over;
    free(start);
  }
  Heap &heap = heaps_[category];
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

void Objects::allocate(uint64_t site, uint64_t address, uint64_t bytes, uint64_t context) {
  uint32_t category;
  if (grouping_ == Grouping::kPaper)
    category =
        category_of(CategoryKind::kSizeClass, bytes < kPaperLargeBytes ? kPaperSmall : kPaperLarge);
  else if (grouping_ == Grouping::kContext && context)
    category = category_of(CategoryKind::kSiteContext, site, context);
  else if (const auto cluster = clusters_ ? clusters_->find(site) : Clusters::const_iterator();
           clusters_ && cluster != clusters_->end())
    category = category_of(CategoryKind::kCluster, cluster->second);
  else
    category = category_of(CategoryKind::kSite, site);
  insert(category, address, bytes);
}

void Objects::free(uint64_t address) {
  const auto at = live_.find(address);
  if (at == live_.end())
    return; // allocated before the recording
  const Object &object = at->second;
  Heap &heap = heaps_[object.category];
  heap.live -= object.end - address;
  heap.free[object.heap_bytes].push_back(object.packed);
  live_.erase(at);
  last_end_ = 0;
}

Objects::Place Objects::find(uint64_t address) {
  if (address < last_start_ || address >= last_end_) {
    auto at = live_.upper_bound(address);
    if (at == live_.begin() || (--at)->second.end <= address)
      return {kNone, 0, false};
    last_start_ = at->first;
    last_end_ = at->second.end;
    last_ = at->second;
  }
  const uint64_t offset = address - last_start_;
  return {last_.category, last_.packed + offset,
          gib_borders_ && offset < (last_end_ - last_start_) / kGib * kGib};
}

} // namespace smalloc::benefit
