// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// unit_ranking.h finds the unit with the fewest pages in use in constant time. It keeps a list for
// each number of pages, and a bitmap of the non-empty lists. A heap of n superpages that empties
// asks n times; a scan of all units each time would take n^2.
#ifndef SMALLOC_PAGES_UNIT_RANKING_H
#define SMALLOC_PAGES_UNIT_RANKING_H

#include "smalloc/base/units.h"

namespace smalloc {

/// Ranks units with 1 to kPagesPerUnit pages in use. The owner's lock guards it.
class UnitRanking {
public:
  struct Links {
    UnitIndex before, after; ///< index plus 1; 0: none
    uint16_t pages;          ///< 0: not ranked
  };
  /// Sets the links: zeroed, one for each unit.
  void init(Links *links) { links_ = links; }
  /// Sets the unit's number of pages in use; 0: removes it from the ranking.
  void set(UnitIndex unit, unsigned pages) {
    if (links_[unit].pages == pages)
      return;
    if (links_[unit].pages)
      remove(unit);
    if (pages)
      insert(unit, pages);
  }
  unsigned pages(UnitIndex unit) const { return links_[unit].pages; }
  /// Returns the unit with the fewest pages; kNoUnit: none is ranked.
  UnitIndex fewest() const {
    for (unsigned w = 0; w < kWords; w++)
      if (any_[w])
        return first_[w * 64 + static_cast<unsigned>(__builtin_ctzll(any_[w]))] - 1;
    return kNoUnit;
  }

private:
  static constexpr unsigned kWords = kPagesPerUnit / 64 + 1;
  void insert(UnitIndex unit, unsigned pages) {
    Links &l = links_[unit];
    l = {0, first_[pages], static_cast<uint16_t>(pages)};
    if (l.after)
      links_[l.after - 1].before = unit + 1;
    first_[pages] = unit + 1;
    any_[pages / 64] |= uint64_t{1} << (pages % 64);
  }
  void remove(UnitIndex unit) {
    Links &l = links_[unit];
    if (l.after)
      links_[l.after - 1].before = l.before;
    if (l.before)
      links_[l.before - 1].after = l.after;
    else if ((first_[l.pages] = l.after) == 0)
      any_[l.pages / 64] &= ~(uint64_t{1} << (l.pages % 64));
    l = {};
  }

  Links *links_ = nullptr;
  UnitIndex first_[kPagesPerUnit + 1] = {}; ///< index plus 1, by pages
  uint64_t any_[kWords] = {};
};

} // namespace smalloc
#endif
