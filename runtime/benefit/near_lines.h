// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// near_lines.h finds the accesses whose data is in the caches, so that they wait for the walk
// alone: those to one of the program's latest kLines lines. A column of a matrix comes back to its
// lines; a table that is read at random does not.
//
// kLines is not a cache's size. It is the number of lines in the longest chase of `smalloc
// calibrate` with one line a page, by which these walks are priced (runtime/measure/geometry.h).
// Lines that the chase found in the caches are there for these accesses, too. In a sample of
// regions the number of lines shrinks with the rate.
//
// O(ways) an access; 8 bytes a line.
#pragma once

#include "runtime/reuse/page_index.h"
#include "runtime/reuse/set_lists.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace smalloc::benefit {

class NearLines {
public:
  /// Creates the list. rate: share of the program's regions whose accesses are recorded, in (0, 1].
  explicit NearLines(double rate) : lines_(entries(rate), kWays) {}

  /// True if the address's line is among the latest. Afterwards it is the latest.
  bool has(uint64_t address) {
    // The number is mixed. Else lines a page apart would share few sets, which they do in no
    // current last-level cache.
    return lines_.hits(reuse::mix(address / kLineBytes));
  }

  static constexpr uint64_t kLines = uint64_t{1} << 17, kWays = 8, kLineBytes = 64;

private:
  static uint64_t entries(double rate) {
    return std::bit_floor(
        std::max(static_cast<uint64_t>(rate * static_cast<double>(kLines)), kWays));
  }

  reuse::SetLists lines_;
};

} // namespace smalloc::benefit
