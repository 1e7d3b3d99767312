// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// table_lines.h decides how far back the line of the page table was used that an access to a base page needs: where the data is near
// (near_lines.h) nothing else comes from far away, and the walk costs what finding that line does. Told as so many pages side by
// side: rows that are four pages apart use two entries of a line of eight, and four times as many lines as so many pages side by side. On
// base pages, whatever else a mapping has on superpages: a bound, and near it where little is.
//
// O(log(lines / 512)) an access; at most 144 bytes a line.
#pragma once

#include "runtime/reuse/distance_counter.h"

#include <algorithm>
#include <cstdint>

namespace smalloc::benefit {

class TableLines {
public:
  /// Pages side by side whose lines were used since the page's own was; 0: it is the first use, or was the last.
  uint32_t pages_since(uint64_t base_page) {
    const uint64_t lines = lines_.distance_of(base_page >> kLineShift);
    return lines == reuse::DistanceCounter::kCold
               ? 0
               : static_cast<uint32_t>(std::min<uint64_t>(lines << kLineShift, UINT32_MAX));
  }
  /// Where nobody asks.
  void use(uint64_t base_page) { lines_.use(base_page >> kLineShift); }

private:
  static constexpr unsigned kLineShift = 3; // entries of 8 bytes in a line of 64

  reuse::DistanceCounter lines_;
};

} // namespace smalloc::benefit
