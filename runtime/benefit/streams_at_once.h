// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// streams_at_once.h counts the streams that go on side by side: those of any category that have
// gone on to a page since the stream itself last did. A loop over three arrays has three, as long
// as it runs.
//
// O(kMostStreams) a page of a stream; 72 bytes.
#pragma once

#include "runtime/benefit/cost_model.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace smalloc::benefit {

class StreamsAtOnce {
public:
  /// Records that a stream goes on to base_page. Returns how many go on side by side, this one
  /// included. For a stream that is not known yet it returns the last number.
  size_t go_on(uint64_t base_page) {
    if (pages_[0] == base_page)
      return last_;
    size_t at = 0;
    while (at < pages_.size() && pages_[at] - base_page + 1 > 2) // neither beside it nor itself
      at++;
    const bool known = at < pages_.size();
    std::copy_backward(pages_.begin(), pages_.begin() + (known ? at : at - 1),
                       pages_.begin() + (known ? at + 1 : at));
    pages_[0] = base_page;
    if (known)
      last_ = at + 1;
    return last_;
  }

private:
  std::array<uint64_t, kMostStreams> pages_ = nowhere();
  size_t last_ = 1;

  static constexpr std::array<uint64_t, kMostStreams> nowhere() {
    std::array<uint64_t, kMostStreams> pages{};
    pages.fill(UINT64_MAX / 2); // has no neighbour
    return pages;
  }
};

} // namespace smalloc::benefit
