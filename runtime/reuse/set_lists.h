// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// set_lists.h counts the misses of a TLB with sets when every access is known. It has an LRU list
// for each set, chosen by the lowest bits of the page's number as in hardware. Strides fall on the
// sets evenly or all on one; the binomial model (associativity.h), which is for samples, assumes
// random sets.
//
// Exact. O(ways) an access; 8 bytes an entry.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace smalloc::reuse {

class SetLists {
public:
  /// Creates the sets. page_shift: number of lowest bits of a page's number that do not choose the
  /// set; those above do. Throws std::invalid_argument unless entries is a positive multiple of
  /// ways, and ways is positive.
  SetLists(uint64_t entries, uint64_t ways, unsigned page_shift = 0);

  /// Takes pages in the order of their use; none is UINT64_MAX.
  void access(std::span<const uint64_t> pages);
  /// Takes one page. True: its set held it.
  bool hits(uint64_t page) {
    if (page == last_page_)
      return true;
    last_page_ = page;
    const bool hit = touch(page);
    misses_ += !hit;
    return hit;
  }
  double misses() const { return static_cast<double>(misses_); }

private:
  bool touch(uint64_t page);

  static constexpr uint64_t kNone = UINT64_MAX;
  std::vector<uint64_t> pages_; // set by set, the latest page first
  uint64_t sets_, ways_, last_page_ = kNone, misses_ = 0;
  unsigned page_shift_;
};

} // namespace smalloc::reuse
