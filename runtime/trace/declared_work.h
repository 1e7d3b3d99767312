// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// declared_work.h decides how much of a trace is read at most, by the bytes of its file. A walk of ten bytes tells of 131,072 pages, and
// a thousand records that are alike take a few bytes when compressed: who reads all that a file of a few KiB can stand for is busy for hours.
// Traces of programs stay below the limits, but for those that do nothing but walk over large memory again and again.
//
// Beyond the limits the reader keeps fewer regions, and of those all accesses, as a recording at a lower rate does. Where that is not
// enough, it leaves out the later events.
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
  uint64_t content_bytes = kNone; ///< when decompressed
  uint64_t walk_pages = kNone;    ///< that walks declare
  uint64_t runs = kNone;          ///< of accesses, that read() hands on
  uint64_t blocks = kNone;        ///< of 64 KiB that they are in; what they take in memory

  /// Who declares less need not be looked at more closely.
  static bool is_modest(uint64_t file_bytes, uint64_t content_bytes, uint64_t walk_pages) {
    return lifted || (content_bytes <= (256 << 10) + 8 * file_bytes &&
                      walk_pages <= (1 << 18) + 16 * file_bytes);
  }
  /// For who knows the file, and waits: there are no limits from here on.
  static inline bool lifted = false;
};

/// Pages of all walks of a decompressed chunk.
double declared_walk_pages(std::span<const unsigned char> chunk);

/// Which regions' accesses stay below the limits: those whose hash is below threshold().
class RegionBudget {
public:
  explicit RegionBudget(const ReadingLimits &limits) : limits_(limits) {}
  void add(std::span<const AccessRun> runs);
  uint64_t threshold() const { return threshold_; }

private:
  struct Region {
    uint32_t blocks = 0; ///< a bit each
    uint64_t runs = 0;
  };
  void drop_last();

  /// Fewer say little of the others: then it is better to hear less of each.
  static constexpr size_t kLeastRegions = 64;
  ReadingLimits limits_;
  std::map<uint64_t, Region> regions_; // by hash
  uint64_t threshold_ = kEveryRegion, runs_ = 0, blocks_ = 0;
  uint64_t last_hash_ = UINT64_MAX;
  Region *last_ = nullptr;
};

} // namespace smalloc::trace
