// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// trace_follower.h decides how a trace's events become accesses to categories: its objects are followed, and every run of accesses is
// handed on with the category that it falls into. Without recorded accesses each new object is written once, page by
// page: what first touch costs can be told at least.
#pragma once

#include "runtime/benefit/objects.h"
#include "runtime/trace/reader.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace smalloc::cli {

/// Throws Failure.
std::unique_ptr<trace::Reader> open_trace(const std::string &path);
std::map<std::string, std::string> header_of_trace(const std::string &path);

/// Warns of the parts of the trace that the reader has left out because of ReadingLimits. Call it after the reading.
void warn_of_left_out(const trace::Reader &reader, const std::string &path);

/// Of a segment's static data, as a category.
uint64_t segment_id(std::string_view path);

class TraceFollower {
public:
  using OnAccess = std::function<void(uint64_t address, benefit::Objects::Place, uint64_t repeats,
                                      bool write, uint64_t thread)>;
  using OnGivenBack = std::function<void(uint64_t start, uint64_t end, uint32_t category)>;
  /// on_given_back: called when an object is freed whose memory goes back to the kernel, as far as one can tell.
  /// limits: of the file; beyond them objects are neither written nor given back.
  TraceFollower(benefit::Objects objects, bool has_accesses, const trace::ReadingLimits &limits,
                OnAccess on_access, OnGivenBack on_given_back = {})
      : objects_(std::move(objects)), has_accesses_(has_accesses),
        touches_left_(limits.blocks * 16), given_back_left_(limits.walk_pages),
        on_access_(std::move(on_access)), on_given_back_(std::move(on_given_back)) {}

  void event(const trace::Event &event);
  /// Of what was before: objects are followed, and nothing is handed on.
  void inherit(const trace::Event &event);
  benefit::Objects &objects() { return objects_; }
  /// Number of objects of which on_access has not got all first touches.
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
