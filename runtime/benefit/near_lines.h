// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// near_lines.h decides which accesses find their data in the caches, so that nothing but the walk keeps them waiting: those to a line among
// the latest kLines of the program. A column of a matrix comes back to its lines; a table that is read at random does not.
//
// kLines is as many as smalloc calibrate's longest chase of one line a page has, by which such walks are priced
// (calibrate/geometry.h), not any cache's size: what that chase found there, such an access finds. In a sample of regions the lines
// are as many fewer.
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
  /// rate: share of the program's regions whose accesses are told, in (0, 1].
  explicit NearLines(double rate) : lines_(entries(rate), kWays) {}

  /// Is its line among them? Now it is.
  bool has(uint64_t address) {
    // Mixed, or lines a page apart would meet in few sets, as they do in none of today's last-level caches.
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
