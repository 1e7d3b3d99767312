// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// set_lists.h decides how the misses of a TLB with sets are counted where every access is known: an LRU list for each set,
// chosen by the lowest bits of the page's number as hardware does it. Strides fall on the sets evenly or all on one; the
// binomial model (associativity.h), which is for samples, takes them for random.
//
// Exact. O(ways) an access; 8 bytes an entry.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace smalloc::reuse {

class SetLists {
public:
  /// page_shift: bits of a page's number that say nothing of its set, below those that do. Throws std::invalid_argument
  /// unless entries is a positive multiple of ways, and ways is positive.
  SetLists(uint64_t entries, uint64_t ways, unsigned page_shift = 0);

  /// Pages in the order of their use; none is UINT64_MAX.
  void access(std::span<const uint64_t> pages);
  /// The same of one page; true: its set held it.
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
  std::vector<uint64_t> pages_; // set by set, the latest first
  uint64_t sets_, ways_, last_page_ = kNone, misses_ = 0;
  unsigned page_shift_;
};

} // namespace smalloc::reuse
