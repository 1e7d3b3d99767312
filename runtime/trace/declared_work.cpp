// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// declared_work.cpp drops whole regions when a trace holds too much: those with the highest hash
// first, as a recording does that lowers its rate (region_sample.h).
#include "runtime/trace/declared_work.h"

#include <bit>
#include <iterator>

namespace smalloc::trace {

double declared_walk_pages(std::span<const unsigned char> chunk) {
  Cursor records(chunk.data(), chunk.size());
  double pages = 0;
  while (records.left()) {
    const uint64_t type = records.varint();
    Cursor p = records.piece(records.varint());
    if (!records.ok())
      break;
    if (type != static_cast<uint64_t>(Type::kWalk))
      continue;
    p.varint(); // dt
    const auto iterations = static_cast<double>(p.varint());
    const uint64_t count = p.varint();
    double an_iteration = 0;
    for (uint64_t i = 0; i < count && i < kMostWalkReferences && p.ok(); i++) {
      p.varint(); // grain
      an_iteration += walk_pages(unzigzag(p.varint()));
    }
    if (p.ok() && iterations * an_iteration <= kMostWalkPages) // larger walks are no valid records
      pages += iterations * an_iteration;
  }
  return pages;
}

void RegionBudget::drop_last() {
  const auto last = std::prev(regions_.end());
  threshold_ = last->first;
  runs_ -= last->second.runs;
  blocks_ -= static_cast<uint64_t>(std::popcount(last->second.blocks));
  regions_.erase(last);
  last_hash_ = UINT64_MAX;
}

void RegionBudget::add(std::span<const AccessRun> runs) {
  for (const AccessRun &run : runs) {
    const uint64_t hash = region_hash(run.address);
    if (hash >= threshold_)
      continue;
    if (hash != last_hash_) {
      last_ = &regions_[hash];
      last_hash_ = hash;
    }
    const uint32_t block = uint32_t{1} << (run.address >> 16 & 31);
    blocks_ += !(last_->blocks & block);
    last_->blocks |= block;
    last_->runs++;
    runs_++;
    while (blocks_ > limits_.blocks || (runs_ > limits_.runs && regions_.size() > kLeastRegions))
      drop_last();
  }
}

} // namespace smalloc::trace
