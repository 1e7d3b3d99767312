// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recent_page_filter.h skips an access if its page has been recorded since the current window
// began. A window ends after a number of recorded pages. Pages share 128 places by the lowest bits
// of their numbers; a page whose place another one has taken is recorded again. So a reuse distance
// is off by a window at most. A loop that jumps about in a table of 128 KiB records next to
// nothing.
//
// Inside the traced process, for each access of a loop in no order. Zeros are a valid initial
// state.
#ifndef RUNTIME_TRACE_RECENT_PAGE_FILTER_H
#define RUNTIME_TRACE_RECENT_PAGE_FILTER_H

#include "runtime/trace/format.h"

#include <stddef.h>
#include <stdint.h>

namespace smalloc::trace {

class RecentPageFilter {
public:
  /// Begins a window of `pages` recorded pages, at least 1: every page is recorded again.
  void open(uint64_t pages) {
    // gcc would replace memset() by one instruction that takes longer than all of these stores.
    for (uint32_t place = 0; place < kPlaces; place += 4)
      *reinterpret_cast<volatile Four *>(lately_ + place) = Four{};
    pages_ = left_ = pages;
  }

  /// Sets the pages of the next window and of those after it.
  void later(uint64_t pages) { pages_ = pages; }

  /// Counts pages that were recorded by other means towards the window.
  void use(uint64_t pages) {
    if (pages < left_)
      left_ -= pages;
    else
      open(pages_);
  }

  /// Drops each access to a page that this thread recorded recently. Moves the others to the front
  /// of `accesses` (addresses | kWrites) and returns their number. While a loop accesses a small
  /// table that is recorded, four accesses are tested at a time.
  size_t keep(uint64_t *accesses, size_t count) {
    uint64_t *out = accesses;
    const uint64_t *in = accesses, *const end = accesses + count;
    uint64_t left = left_;
    bool any = true; // the last group of four had a page to record
    while (in != end) {
      while (!any && end - in >= 4 &&
             (differs(in[0]) | differs(in[1]) | differs(in[2]) | differs(in[3])) == 0)
        in += 4;
      const uint64_t *const some = end - in < 4 ? end : in + 4;
      const uint64_t *const before = out;
      for (; in != some; in++) {
        const uint64_t access = *in;
        const auto page = static_cast<uint32_t>(access >> kPageShift);
        uint32_t &place = lately_[page % kPlaces];
        // No branch: it is seldom predictable which pages come again.
        const uint32_t other = place != page;
        place = page;
        *out = access;
        out += other;
        left -= other;
        if (left == 0) {
          open(pages_);
          left = left_;
        }
      }
      any = out != before;
    }
    left_ = left;
    return static_cast<size_t>(out - accesses);
  }

private:
  /// Returns 0 if the page has been recorded lately.
  uint32_t differs(uint64_t access) const {
    const auto page = static_cast<uint32_t>(access >> kPageShift);
    return lately_[page % kPlaces] ^ page;
  }

  using Four __attribute__((vector_size(16), may_alias)) = uint32_t;
  static constexpr unsigned kPageShift = 12;
  static constexpr uint32_t kPlaces = 128;
  uint64_t pages_, left_;
  alignas(16) uint32_t lately_[kPlaces]; ///< low bits of a page's number, at the place of its
                                         ///< lowest bits
};

} // namespace smalloc::trace
#endif
