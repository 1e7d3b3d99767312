// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// streams_at_once.h decides how many streams go on side by side: those that have gone on to a page since the stream itself last did, whichever
// category's. Three arrays of one loop are three, as long as it runs.
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
  /// base_page: of a stream that goes on to it. Returns how many go on side by side, this one included; of a stream that nobody knows yet,
  /// as many as of the one before.
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
    pages.fill(UINT64_MAX / 2); // beside no page
    return pages;
  }
};

} // namespace smalloc::benefit
