// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_profile.h keeps the access counts of units (2 MiB). A unit is kept from its first sampled
// access until its counts have aged away without use. The units take at most a stated share of the
// program's memory. Accesses to further units are not counted until another unit is removed.
#ifndef RUNTIME_NUMA_LIVE_PAGE_PROFILE_H
#define RUNTIME_NUMA_LIVE_PAGE_PROFILE_H

#include "smalloc/numa/migration_policy.h"

namespace smalloc::numa {

class PageProfile {
public:
  /// Units that are always allowed: 400 KB, also for a program that has only just begun.
  static constexpr size_t kLeastUnits = 64;
  /// Share of the resident memory, in thousandths: the promise is 0.3 %.
  static constexpr uint64_t kShareThousandths = 3;

  /// Returns the most units that `resident_bytes` allow.
  static size_t units_for_resident(uint64_t resident_bytes);
  void allow(size_t units) { allowed_ = units < kLeastUnits ? kLeastUnits : units; }

  /// Counts a sampled access. False: it could not be counted.
  bool touch(uintptr_t address, uint8_t node);
  /// Returns the unit of an address; nullptr: none is kept.
  Unit *find(uintptr_t address) const;

  /// Returns all units, in no order; valid until the next touch() or forget_idle().
  Unit *const *units() const { return units_; }
  size_t count() const { return count_; }
  /// Value of looked() for a unit that was never located. Otherwise looked() is the number of
  /// intervals since it was.
  static constexpr uint8_t kNever = 255;
  uint8_t &looked(size_t index) { return looked_[index]; }

  /// Ends an interval: removes units without counts, here and in `policy`.
  void forget_idle(MigrationPolicy &policy);
  /// Removes all units and frees their memory.
  void clear();

  uint64_t refused() const { return refused_; }
  /// Returns the bytes in use.
  size_t bytes() const { return count_ * (sizeof(Unit) + kEntryBytes); }

private:
  static constexpr size_t kSlab = 64;
  /// Bytes of the tables for a unit when they have just doubled: two pointers, two slots of the
  /// index, an age, times two.
  static constexpr size_t kEntryBytes = 2 * (2 * sizeof(Unit *) + 2 * sizeof(uint32_t) + 1);
  size_t slot_of(uintptr_t unit_address) const;
  bool grow();
  bool add_slab();
  Unit *insert(uintptr_t unit_address);

  Unit **units_ = nullptr; ///< the first count_ of capacity_
  uint8_t *looked_ = nullptr;
  uint32_t *index_ = nullptr; ///< by hash: place in units_ + 1; 0: empty; twice capacity_ slots
  Unit **free_ = nullptr;     ///< at most capacity_ entries
  size_t count_ = 0, capacity_ = 0, free_count_ = 0, allowed_ = kLeastUnits;
  struct Slab {
    Slab *next;
    Unit unit[kSlab];
  };
  Slab *slabs_ = nullptr;
  uint64_t refused_ = 0;
};

} // namespace smalloc::numa
#endif
