// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// trace_follower.cpp applies a trace's events to the objects.
#include "runtime/profile/trace_follower.h"

#include "runtime/errors/diagnostics.h"

namespace smalloc::cli {

namespace {
Failure unreadable(const std::string &path, const trace::TraceError &error) {
  return {"cannot read the trace", path, error.what(), "smalloc record -o FILE -- ./app", kFailed};
}
} // namespace

std::unique_ptr<trace::Reader> open_trace(const std::string &path) try {
  return std::make_unique<trace::Reader>(path);
} catch (const trace::TraceError &error) {
  throw unreadable(path, error);
}

trace::Header header_of_trace(const std::string &path) try {
  return trace::Reader::header_of(path);
} catch (const trace::TraceError &error) {
  throw unreadable(path, error);
}

void warn_of_left_out(const trace::Reader &reader, const std::string &path) {
  for (const std::string &what : reader.left_out())
    print_warning(
        "not all of the trace is read", path, what,
        "smalloc analyze --unbounded reads all of it, if you have made the trace yourself");
}

uint64_t segment_id(std::string_view path) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : path)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

void TraceFollower::event(const trace::Event &e) {
  switch (e.type) {
  case trace::Type::kSegment:
    objects_.segment(segment_id(e.text), e.address, e.bytes);
    break;
  case trace::Type::kAllocate:
    objects_.allocate(e.site, e.address, e.bytes, e.context);
    touch(e);
    break;
  case trace::Type::kReallocate:
    objects_.reallocate(e.old_address, e.site, e.address, e.bytes, e.context);
    touch(e);
    break;
  case trace::Type::kFree:
    free(e.address);
    break;
  case trace::Type::kAccess:
    for (const trace::AccessRun &run : e.accesses) {
      const benefit::Objects::Place place = objects_.find(run.address);
      if (!inherits_)
        on_access_(run.address, place, run.repeats, run.write, e.thread);
    }
    break;
  default:
    break;
  }
}

void TraceFollower::inherit(const trace::Event &e) {
  inherits_ = true;
  event(e);
  inherits_ = false;
}

// Sizes of objects whose memory goes back to the kernel when they are freed. glibc's malloc maps
// blocks above its threshold separately, and unmaps them again. It raises the threshold with time
// up to kUnmappedBytes; smaller blocks mostly stay with the program. Blocks above
// kMostUnmappedBytes are not given back page by page here.
constexpr uint64_t kUnmappedBytes = uint64_t{32} << 20, kMostUnmappedBytes = uint64_t{1} << 36;

void TraceFollower::free(uint64_t address) {
  const benefit::Objects::Freed gone = objects_.free(address);
  if (on_given_back_ && !inherits_ && gone.bytes >= kUnmappedBytes &&
      gone.bytes <= kMostUnmappedBytes && gone.bytes >> 12 <= given_back_left_) {
    given_back_left_ -= gone.bytes >> 12;
    on_given_back_(address, address + gone.bytes, gone.category);
  }
}

void TraceFollower::touch(const trace::Event &e) {
  if (has_accesses_ || inherits_)
    return;
  uint64_t offset = 0;
  for (; offset < e.bytes && touches_left_; offset += 4096, touches_left_--)
    on_access_(e.address + offset, objects_.find(e.address + offset), 0, true, e.thread);
  untouched_ += offset < e.bytes;
}

} // namespace smalloc::cli
