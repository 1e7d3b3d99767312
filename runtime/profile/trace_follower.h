// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// trace_follower.h turns a trace's events into accesses to categories. It follows the objects, and
// passes on each run of accesses with the category that it falls into. If no accesses were
// recorded, each new object is written once, page by page: at least its first touches have a cost
// then.
#pragma once

#include "runtime/benefit/objects.h"
#include "runtime/trace/reader.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace smalloc::cli {

/// Opens a trace. Throws Failure.
std::unique_ptr<trace::Reader> open_trace(const std::string &path);
trace::Header header_of_trace(const std::string &path);

/// Warns of the parts of the trace that the reader has left out because of ReadingLimits. Call it
/// after the reading.
void warn_of_left_out(const trace::Reader &reader, const std::string &path);

/// Returns the category id of a segment's static data.
uint64_t segment_id(std::string_view path);

class TraceFollower {
public:
  using OnAccess = std::function<void(uint64_t address, benefit::Objects::Place, uint64_t repeats,
                                      bool write, uint64_t thread)>;
  using OnGivenBack = std::function<void(uint64_t start, uint64_t end, uint32_t category)>;
  /// Creates a follower. on_given_back: called when an object is freed whose memory goes back to
  /// the kernel, as far as the trace shows. limits: of the file; beyond them objects are neither
  /// written nor given back.
  TraceFollower(benefit::Objects objects, bool has_accesses, const trace::ReadingLimits &limits,
                OnAccess on_access, OnGivenBack on_given_back = {})
      : objects_(std::move(objects)), has_accesses_(has_accesses),
        touches_left_(limits.blocks * 16), given_back_left_(limits.walk_pages),
        on_access_(std::move(on_access)), on_given_back_(std::move(on_given_back)) {}

  void event(const trace::Event &event);
  /// Applies an event of an ancestor: objects are followed, and nothing is passed on.
  void inherit(const trace::Event &event);
  benefit::Objects &objects() { return objects_; }
  /// Returns the number of objects whose first touches on_access has not got in full.
  uint64_t untouched() const { return untouched_; }

private:
  void touch(const trace::Event &event);
  void free(uint64_t address);

  benefit::Objects objects_;
  bool has_accesses_, inherits_ = false;
  uint64_t touches_left_, given_back_left_; ///< pages
  uint64_t untouched_ = 0;
  OnAccess on_access_;
  OnGivenBack on_given_back_;
};

} // namespace smalloc::cli
