// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// table_lines.h measures how far back the page-table line was used that an access to a base page
// needs. If the data is near (near_lines.h), nothing else comes from far away, and the walk costs
// what that line costs. The distance is given in adjacent pages: rows that are four pages apart use
// two entries of a line of eight, and four times as many lines as adjacent pages. All pages count
// as base pages, whatever else a mapping has on superpages: a bound, and a close one if that is
// little.
//
// O(log(lines / 512)) an access; at most 144 bytes a line.
#pragma once

#include "runtime/reuse/distance_counter.h"

#include <algorithm>
#include <cstdint>

namespace smalloc::benefit {

class TableLines {
public:
  /// Returns the number of adjacent pages whose lines were used since the page's own line. 0: the
  /// line is used for the first time, or was the last one.
  uint32_t pages_since(uint64_t base_page) {
    const uint64_t lines = lines_.distance_of(base_page >> kLineShift);
    return lines == reuse::DistanceCounter::kCold
               ? 0
               : static_cast<uint32_t>(std::min<uint64_t>(lines << kLineShift, UINT32_MAX));
  }
  /// Records a use whose distance is not needed.
  void use(uint64_t base_page) { lines_.use(base_page >> kLineShift); }

private:
  static constexpr unsigned kLineShift = 3; // entries of 8 bytes in a line of 64

  reuse::DistanceCounter lines_;
};

} // namespace smalloc::benefit
