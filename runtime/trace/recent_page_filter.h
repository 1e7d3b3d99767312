// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recent_page_filter.h decides which of a thread's accesses are left out because their page has been told lately: since the window began, which
// ends with so many pages told. Of two pages whose numbers end alike the one before is forgotten early, and told again. So a reuse
// distance is off by a window at most, and a loop that jumps about in a table of 128 KiB tells next to nothing.
//
// Inside the traced process, for each access of a loop in no order. Zeros at first.
#ifndef RUNTIME_TRACE_RECENT_PAGE_FILTER_H
#define RUNTIME_TRACE_RECENT_PAGE_FILTER_H

#include "runtime/trace/format.h"

#include <stddef.h>
#include <stdint.h>

namespace smalloc::trace {

class RecentPageFilter {
public:
  /// Every page is told again from here on; the window ends with so many, at least 1.
  void open(uint64_t pages) {
    // Of memset() gcc makes one instruction that takes longer than all of these.
    for (uint32_t place = 0; place < kPlaces; place += 4)
      *reinterpret_cast<volatile Four *>(lately_ + place) = Four{};
    pages_ = left_ = pages;
  }

  /// So many from the next window on.
  void later(uint64_t pages) { pages_ = pages; }

  /// Pages that were told otherwise.
  void use(uint64_t pages) {
    if (pages < left_)
      left_ -= pages;
    else
      open(pages_);
  }

  /// Moves those of addresses (| kWrites) that are told together, and returns how many they are. Where a loop has told its
  /// small table, four are looked at together.
  size_t keep(uint64_t *told, size_t count) {
    uint64_t *out = told;
    const uint64_t *in = told, *const end = told + count;
    uint64_t left = left_;
    bool any = true; // of the four before were kept
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
        // No branch: which pages come again is seldom foreseen.
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
    return static_cast<size_t>(out - told);
  }

private:
  /// 0: its page has been told lately.
  uint32_t differs(uint64_t access) const {
    const auto page = static_cast<uint32_t>(access >> kPageShift);
    return lately_[page % kPlaces] ^ page;
  }

  using Four __attribute__((vector_size(16), may_alias)) = uint32_t;
  static constexpr unsigned kPageShift = 12;
  static constexpr uint32_t kPlaces = 128;
  uint64_t pages_, left_;
  alignas(16) uint32_t lately_[kPlaces]; ///< the lower bits of a page's number, at its lowest
};

} // namespace smalloc::trace
#endif
