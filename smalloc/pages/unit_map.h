// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// unit_map.h decides which units of a slice an object of several superpages gets: the lowest free
// run that is long enough (address-ordered first fit, which keeps the used part of the slice short
// and so its mappings few). A bitmap, searched by words below the high-water mark: O(highest unit
// used / 64), under 2 us for 256 GiB in use, which is little beside the page faults of an object of
// at least one superpage. Not thread-safe; the owner locks.
#ifndef SMALLOC_PAGES_UNIT_MAP_H
#define SMALLOC_PAGES_UNIT_MAP_H

#include "smalloc/base/units.h"

namespace smalloc {

class UnitMap {
public:
  /// words: (units + 63) / 64 zeroed words that outlive the map. phase: number of unit 0 in the
  /// address space, for alignments of several units.
  void init(uint64_t *words, UnitIndex units, uint64_t phase = 0) {
    words_ = words;
    phase_ = phase;
    units_ = units;
    high_water_ = 0;
    used_ = 0;
  }
  UnitIndex units() const { return units_; }
  /// No unit from here on is taken any more, or from behind the last one that is. Returns which.
  UnitIndex end_at(UnitIndex units) {
    if (units < high_water_)
      units = high_water_;
    if (units < units_)
      units_ = units;
    return units_;
  }
  UnitIndex used() const { return used_; }

  /// First unit of a run of `count` units, now taken; kNoUnit when there is none. Its address is a
  /// multiple of `alignment` units. REQUIRES: count > 0, alignment is a power of two.
  UnitIndex take(UnitIndex count, UnitIndex alignment = 1);
  /// Takes exactly [first, first + count); false (and nothing taken) when some unit of it is not
  /// free.
  bool take_at(UnitIndex first, UnitIndex count);
  /// REQUIRES: all of [first, first + count) is taken.
  void give_back(UnitIndex first, UnitIndex count);
  bool is_taken(UnitIndex unit) const {
    return unit < units_ && (words_[unit / 64] >> (unit % 64) & 1);
  }
  /// One past the highest unit ever taken that is still taken, at least.
  UnitIndex high_water() const { return high_water_; }
  /// Recounts; for tests and debug:on.
  bool check_invariants() const;

private:
  UnitIndex next_free(UnitIndex from) const;
  UnitIndex next_taken(UnitIndex from, UnitIndex limit) const;
  void mark(UnitIndex first, UnitIndex count, bool taken);

  uint64_t *words_ = nullptr;
  uint64_t phase_ = 0;
  UnitIndex units_ = 0;
  UnitIndex high_water_ = 0;
  UnitIndex used_ = 0;
};

} // namespace smalloc
#endif
