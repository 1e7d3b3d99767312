// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// unit_map.h finds units of a slice for an object of several superpages. It takes the lowest free
// run that is long enough: address-ordered first fit, which keeps the used part of the slice short
// and its mappings few. It searches a bitmap by words below the high-water mark: O(highest unit
// used / 64), under 2 us for 256 GiB in use. That is little beside the page faults of an object of
// at least one superpage. Not thread-safe; the owner locks.
#ifndef SMALLOC_PAGES_UNIT_MAP_H
#define SMALLOC_PAGES_UNIT_MAP_H

#include "smalloc/base/units.h"

namespace smalloc {

class UnitMap {
public:
  /// Sets up the map. `words`: (units + 63) / 64 zeroed words that outlive the map. `phase`: number
  /// of unit 0 in the address space, for alignments of several units.
  void init(uint64_t *words, UnitIndex units, uint64_t phase = 0) {
    words_ = words;
    phase_ = phase;
    units_ = units;
    high_water_ = 0;
    used_ = 0;
  }
  UnitIndex units() const { return units_; }
  /// Ends the map at `units`, or after the last taken unit if that is higher. Returns the new end.
  UnitIndex end_at(UnitIndex units) {
    if (units < high_water_)
      units = high_water_;
    if (units < units_)
      units_ = units;
    return units_;
  }
  UnitIndex used() const { return used_; }

  /// Takes a run of `count` units whose address is a multiple of `alignment` units. Returns its
  /// first unit, or kNoUnit if there is none. REQUIRES: count > 0, alignment is a power of two.
  UnitIndex take(UnitIndex count, UnitIndex alignment = 1);
  /// Takes exactly [first, first + count). Returns false and takes nothing if a unit of it is not
  /// free.
  bool take_at(UnitIndex first, UnitIndex count);
  /// Frees the units. REQUIRES: all of [first, first + count) is taken.
  void give_back(UnitIndex first, UnitIndex count);
  bool is_taken(UnitIndex unit) const {
    return unit < units_ && (words_[unit / 64] >> (unit % 64) & 1);
  }
  /// Returns an upper bound: no unit from here on is taken.
  UnitIndex high_water() const { return high_water_; }
  /// Recounts and compares, for tests and debug:on.
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
