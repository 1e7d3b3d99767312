// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// chunk_reader.cpp reads records that may be damaged. It accepts a record if its payload has all
// of its fields, and none exceeds the limits of format.h.
#include "runtime/trace/chunk_reader.h"

#include <cstring>
#include <utility>

namespace smalloc::trace {

// Returns the type of the events that records of `type` become.
static Type event_type(Type type) {
  switch (type) {
  case Type::kTouch:
  case Type::kSpots:
    return Type::kAccess;
  case Type::kNew:
    return Type::kAllocate;
  case Type::kGone:
    return Type::kFree;
  default:
    return type;
  }
}

// True if the first field is the time since the previous record.
static bool has_time(Type type) {
  return type != Type::kHeader && type != Type::kSchema && type != Type::kChunk &&
         type != Type::kSite && type != Type::kSegment && type != Type::kSample;
}

bool ChunkReader::fill(Type type, Cursor p, Event &event) {
  event = {};
  event.type = event_type(type);
  event.thread = thread_;
  event.time_ns = time_ns_ + (has_time(type) ? p.varint() : 0);
  if (!fill_memory(type, p, event) || !p.ok())
    return false;
  thread_ = event.thread;
  time_ns_ = event.time_ns;
  return true;
}

// Fills an allocation, a free or accesses, and passes on the other types. False: the record makes
// no sense.
bool ChunkReader::fill_memory(Type type, Cursor &p, Event &event) {
  switch (type) {
  case Type::kAllocate:
  case Type::kReallocate:
    event.site = p.fixed64();
    event.bytes = p.varint();
    event.address = p.varint();
    if (type == Type::kReallocate)
      event.old_address = p.varint();
    if (type == Type::kReallocate && p.left() >= 8)
      event.context = p.fixed64();
    return true;
  case Type::kNew:
    fill_allocation(p, event);
    return true;
  case Type::kFree:
    event.address = p.varint();
    return true;
  case Type::kGone:
    event.address = last_address_ += static_cast<uint64_t>(unzigzag(p.varint()));
    return true;
  case Type::kAccess: // of earlier writers
  case Type::kTouch:
    event.weight = p.varint();
    if (event.weight == 0 || !read_runs(type, p))
      return false;
    event.accesses = accesses_;
    return true;
  case Type::kSpots:
    if (!read_spots(p))
      return false;
    event.accesses = accesses_;
    return true;
  case Type::kWalk:
    return begin_walk(p);
  default:
    fill_note(type, p, event);
    return true;
  }
}

// Fills an event of the process, the thread or the chunk.
void ChunkReader::fill_note(Type type, Cursor &p, Event &event) {
  switch (type) {
  case Type::kChunk:
    event.thread = p.varint();
    event.offset = p.varint(); // sequence
    event.time_ns = p.varint();
    return;
  case Type::kSite:
    event.site = p.fixed64();
    event.kind = p.varint();
    event.offset = p.varint();
    break;
  case Type::kFault:
    event.minor = p.varint();
    event.major = p.varint();
    return;
  case Type::kSegment:
    event.address = p.varint();
    event.bytes = p.varint();
    break;
  case Type::kEnd:
    event.lost = p.varint();
    return;
  case Type::kSample:
    event.threshold = p.varint();
    too_many_ = event.threshold > threshold_;
    return;
  default:
    break;
  }
  event.text = {reinterpret_cast<const char *>(p.data()), p.left()};
}

void ChunkReader::fill_allocation(Cursor &p, Event &event) {
  event.address = last_address_ += static_cast<uint64_t>(unzigzag(p.varint()));
  event.bytes = p.varint();
  if (p.left()) {
    last_site_ = p.fixed64();
    last_context_ = p.left() ? p.fixed64() : 0;
  }
  event.site = last_site_;
  event.context = last_context_;
}

bool ChunkReader::read_runs(Type type, Cursor &p) {
  const unsigned flags = type == Type::kTouch ? 2 : 1;
  const uint64_t count = p.varint();
  if (count > kMostAccesses)
    return false;
  accesses_.clear();
  uint64_t grain = 0;
  for (uint64_t i = 0; i < count && p.ok(); i++) {
    const uint64_t step = p.varint();
    grain += static_cast<uint64_t>(unzigzag(step >> flags));
    const uint64_t repeats = flags == 1 || (step & 1) ? p.varint() : 0;
    if (too_many_ && region_hash(grain << kGrainShift) >= threshold_)
      continue;
    accesses_.push_back({grain << kGrainShift, repeats, (step >> (flags - 1) & 1) != 0});
  }
  return true;
}

// Reads accesses in no order. Consecutive ones of a page become one run.
bool ChunkReader::read_spots(Cursor &p) {
  const uint64_t width = p.varint(), base = p.varint();
  if (width < 2 || width > 4 || p.left() / width > kMostAccesses)
    return false;
  accesses_.clear();
  uint64_t last = UINT64_MAX;
  for (; p.left() >= width; p.skip(width)) {
    uint32_t spot = 0;
    std::memcpy(&spot, p.data(), width); // little-endian, as all supported machines
    const uint64_t address = (base + (spot >> 1)) << kGrainShift;
    if (too_many_ && region_hash(address) >= threshold_)
      continue;
    if (address >> 12 == last) {
      accesses_.back().repeats++;
      accesses_.back().write |= (spot & 1) != 0;
      continue;
    }
    last = address >> 12;
    accesses_.push_back({address, 0, (spot & 1) != 0});
  }
  return true;
}

// Reads a walk, whose accesses are the next events. A walk beyond the limit is left out.
bool ChunkReader::begin_walk(Cursor &p) {
  const uint64_t iterations = p.varint(), count = p.varint();
  if (count > kMostWalkReferences)
    return false;
  std::vector<WalkReference> references;
  uint64_t grain = 0;
  for (uint64_t i = 0; i < count && p.ok(); i++) {
    const uint64_t step = p.varint();
    grain += static_cast<uint64_t>(unzigzag(step >> 1));
    references.push_back({grain << kGrainShift, unzigzag(p.varint()), (step & 1) != 0});
  }
  double pages = 0;
  for (const WalkReference &r : references)
    pages += walk_pages(r.stride) * static_cast<double>(iterations);
  walk_.emplace(iterations, std::move(references), threshold_);
  if (!p.ok() || !walk_->plausible()) {
    walk_.reset();
    return false;
  }
  if (walk_pages_left_ && (*walk_pages_left_ -= pages) < 0) {
    walk_.reset();
    walks_left_out_++;
  }
  return true;
}

bool ChunkReader::fill_from_walk(Event &event) {
  accesses_.clear();
  if (!walk_->take(accesses_, kMostAccesses)) {
    walk_.reset();
    return false;
  }
  event = {};
  event.type = Type::kAccess;
  event.thread = thread_;
  event.time_ns = time_ns_;
  event.accesses = accesses_;
  return true;
}

bool ChunkReader::next(Event &event) {
  while (walk_ || cursor_.left() > 0) {
    if (walk_) {
      if (fill_from_walk(event))
        return true;
      continue;
    }
    const uint64_t type = cursor_.varint();
    const Cursor payload = cursor_.piece(cursor_.varint());
    if (!cursor_.ok()) {
      bad_++;
      return false; // no later record of the chunk can be found
    }
    if (type < static_cast<uint64_t>(Type::kHeader) || type > static_cast<uint64_t>(Type::kSpots)) {
      unknown_++;
      continue;
    }
    const bool good = fill(static_cast<Type>(type), payload, event);
    if (good && event.type != Type::kWalk)
      return true;
    bad_ += !good;
  }
  return false;
}

} // namespace smalloc::trace
