// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// streams.h finds accesses that go on to the next page of a stream, as a hardware prefetcher sees
// it: those to a neighbour of one of the category's latest pages. Several pages are kept, because
// one category's loop walks several arrays, or rows, at once.
// A page with few accesses is no part of a stream. With few accesses between two pages the
// processor walks for several pages at once, where a stream waits at each page for its prefetchers.
// (On a Xeon guest: 620 cycles a page of 64 lines, 30 if each page has one.)
//
// O(kStreams) an access to another page; 128 bytes a category.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace smalloc::benefit {

class Streams {
public:
  /// Least accesses of a page that is walked through: one in 512 bytes. Neighbours within 256 bytes
  /// count once (docs/internals/trace-format.md).
  static constexpr unsigned kDense = 8;

  /// True if the access goes on to a stream's next page. base_page: number of the page used now;
  /// accesses: in a row. Pages of one stream may be used again before it goes on.
  bool goes_on(uint64_t base_page, uint64_t accesses = 1) {
    if (base_page == pages_[0].number) {
      pages_[0].accesses += accesses;
      return goes_on_;
    }
    size_t at = 0;
    while (at + 1 < kStreams && pages_[at].number != base_page &&
           !is_beside(pages_[at].number, base_page))
      at++;
    const Page found = pages_[at];
    goes_on_ = is_beside(found.number, base_page) && found.accesses >= kDense;
    // The newest page is first; the page that has not been used for longest makes room.
    std::copy_backward(pages_.begin(), pages_.begin() + at, pages_.begin() + at + 1);
    pages_[0] = {base_page, found.number == base_page ? found.accesses + accesses : accesses};
    return goes_on_;
  }

private:
  static constexpr size_t kStreams = 8;
  static constexpr uint64_t kNone = UINT64_MAX / 2; // has no neighbour
  static bool is_beside(uint64_t a, uint64_t b) { return a + 1 == b || b + 1 == a; }

  struct Page {
    uint64_t number = kNone, accesses = 0;
  };
  std::array<Page, kStreams> pages_;
  bool goes_on_ = false; // of the last access
};

} // namespace smalloc::benefit
