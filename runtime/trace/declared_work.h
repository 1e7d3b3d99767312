// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// declared_work.h limits how much of a trace is read, by the bytes of its file. A walk of ten bytes
// can stand for 131,072 pages, and a thousand equal records compress to a few bytes. Reading all
// that a file of a few KiB can stand for would take hours. Traces of programs stay below the
// limits, except of those that only walk over large memory again and again.
//
// Beyond the limits the reader keeps fewer regions, with all their accesses, as a recording at a
// lower rate does. If that is not enough, it leaves out the later events.
#pragma once

#include "runtime/trace/walk.h"

#include <cstdint>
#include <map>
#include <span>

namespace smalloc::trace {

/// The limits for a file of `file_bytes` bytes.
struct ReadingLimits {
  explicit ReadingLimits(uint64_t file_bytes) {
    if (lifted)
      return;
    content_bytes = (uint64_t{8} << 20) + 128 * file_bytes;
    walk_pages = (uint64_t{1} << 25) + 4096 * file_bytes;
    runs = (uint64_t{5} << 20) + 64 * file_bytes;
    blocks = (uint64_t{24} << 10) + file_bytes;
  }
  static constexpr uint64_t kNone = uint64_t{1} << 56;
  uint64_t content_bytes = kNone; ///< of the chunks, decompressed
  uint64_t walk_pages = kNone;    ///< pages that walks declare
  uint64_t runs = kNone;          ///< of accesses that read() passes on
  uint64_t blocks = kNone;        ///< of 64 KiB that the accesses lie in; they bound the memory

  /// True if the trace declares so little that it need not be examined further.
  static bool is_modest(uint64_t file_bytes, uint64_t content_bytes, uint64_t walk_pages) {
    return lifted || (content_bytes <= (256 << 10) + 8 * file_bytes &&
                      walk_pages <= (1 << 18) + 16 * file_bytes);
  }
  /// True: there are no limits from here on. For a user who knows the file, and waits.
  static inline bool lifted = false;
};

/// Returns the pages of all walks in a decompressed chunk.
double declared_walk_pages(std::span<const unsigned char> chunk);

/// Finds the regions whose accesses stay below the limits: those whose hash is below threshold().
class RegionBudget {
public:
  explicit RegionBudget(const ReadingLimits &limits) : limits_(limits) {}
  void add(std::span<const AccessRun> runs);
  uint64_t threshold() const { return threshold_; }

private:
  struct Region {
    uint32_t blocks = 0; ///< bitmap
    uint64_t runs = 0;
  };
  void drop_last();

  /// The limit of runs drops a region only while there are more than this. Fewer would represent
  /// the others badly; then later runs are left out instead.
  static constexpr size_t kLeastRegions = 64;
  ReadingLimits limits_;
  std::map<uint64_t, Region> regions_; // by hash
  uint64_t threshold_ = kEveryRegion, runs_ = 0, blocks_ = 0;
  uint64_t last_hash_ = UINT64_MAX;
  Region *last_ = nullptr;
};

} // namespace smalloc::trace
