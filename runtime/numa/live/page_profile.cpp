// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_profile.cpp stores the units. An index with open addressing finds them; it is rebuilt when
// it grows or a unit is removed. Units lie in slabs that are never moved, because plans point into
// them.
#include "runtime/numa/live/page_profile.h"
#include "runtime/numa/live/pages.h"

#include <new>
#include <string.h>

namespace smalloc::numa {

size_t PageProfile::units_for_resident(uint64_t resident_bytes) {
  return static_cast<size_t>(resident_bytes / 1000 * kShareThousandths /
                             (sizeof(Unit) + kEntryBytes));
}

/// Returns the slot of the unit, or where it would be put.
size_t PageProfile::slot_of(uintptr_t unit_address) const {
  const size_t mask = 2 * capacity_ - 1;
  size_t slot = (unit_address / kSuperpageBytes * 0x9e3779b97f4a7c15u >> 32) & mask;
  while (index_[slot] && units_[index_[slot] - 1]->address != unit_address)
    slot = (slot + 1) & mask;
  return slot;
}

Unit *PageProfile::find(uintptr_t address) const {
  if (count_ == 0)
    return nullptr;
  const uint32_t at = index_[slot_of(align_down(address, kSuperpageBytes))];
  return at ? units_[at - 1] : nullptr;
}

bool PageProfile::grow() {
  const size_t capacity = capacity_ ? 2 * capacity_ : 256;
  auto **units = static_cast<Unit **>(map_pages(capacity * sizeof(Unit *)));
  auto *looked = static_cast<uint8_t *>(map_pages(capacity));
  auto *index = static_cast<uint32_t *>(map_pages(2 * capacity * sizeof(uint32_t)));
  auto **free = static_cast<Unit **>(map_pages(capacity * sizeof(Unit *)));
  if (!units || !looked || !index || !free) {
    if (units)
      unmap_pages(units, capacity * sizeof(Unit *));
    if (looked)
      unmap_pages(looked, capacity);
    if (index)
      unmap_pages(index, 2 * capacity * sizeof(uint32_t));
    if (free)
      unmap_pages(free, capacity * sizeof(Unit *));
    return false;
  }
  if (capacity_) {
    memcpy(units, units_, count_ * sizeof(Unit *));
    memcpy(looked, looked_, count_);
    memcpy(free, free_, free_count_ * sizeof(Unit *));
    unmap_pages(units_, capacity_ * sizeof(Unit *));
    unmap_pages(looked_, capacity_);
    unmap_pages(index_, 2 * capacity_ * sizeof(uint32_t));
    unmap_pages(free_, capacity_ * sizeof(Unit *));
  }
  units_ = units;
  looked_ = looked;
  index_ = index;
  free_ = free;
  capacity_ = capacity;
  for (size_t i = 0; i < count_; i++)
    index_[slot_of(units_[i]->address)] = static_cast<uint32_t>(i + 1);
  return true;
}

bool PageProfile::add_slab() {
  auto *slab = static_cast<Slab *>(map_pages(sizeof(Slab)));
  if (!slab)
    return false;
  slab->next = slabs_;
  slabs_ = slab;
  for (size_t i = kSlab; i-- > 0;)
    free_[free_count_++] = &slab->unit[i];
  return true;
}

Unit *PageProfile::insert(uintptr_t unit_address) {
  // All units of a slab must fit into free_, however many come back.
  if (count_ + free_count_ + kSlab > capacity_ && !grow())
    return nullptr;
  if (free_count_ == 0 && !add_slab())
    return nullptr;
  Unit *unit = new (free_[--free_count_]) Unit;
  unit->address = unit_address;
  units_[count_] = unit;
  looked_[count_] = kNever;
  index_[slot_of(unit_address)] = static_cast<uint32_t>(++count_);
  return unit;
}

bool PageProfile::touch(uintptr_t address, uint8_t node) {
  Unit *unit = find(address);
  if (!unit) {
    if (count_ >= allowed_ || !(unit = insert(align_down(address, kSuperpageBytes)))) {
      refused_++;
      return false;
    }
  }
  MigrationPolicy::sample(*unit, static_cast<unsigned>((address - unit->address) / kBasePageBytes),
                          node);
  return true;
}

void PageProfile::forget_idle(MigrationPolicy &policy) {
  size_t kept = 0;
  for (size_t i = 0; i < count_; i++) {
    Unit *unit = units_[i];
    if (unit->touched || unit->was_superpage) {
      units_[kept] = unit;
      looked_[kept++] = looked_[i];
    } else {
      policy.forget(*unit);
      free_[free_count_++] = unit;
    }
  }
  if (kept == count_)
    return;
  count_ = kept;
  memset(index_, 0, 2 * capacity_ * sizeof(uint32_t));
  for (size_t i = 0; i < count_; i++)
    index_[slot_of(units_[i]->address)] = static_cast<uint32_t>(i + 1);
}

void PageProfile::clear() {
  for (Slab *slab = slabs_; slab;) {
    Slab *next = slab->next;
    unmap_pages(slab, sizeof(Slab));
    slab = next;
  }
  if (capacity_) {
    unmap_pages(units_, capacity_ * sizeof(Unit *));
    unmap_pages(looked_, capacity_);
    unmap_pages(index_, 2 * capacity_ * sizeof(uint32_t));
    unmap_pages(free_, capacity_ * sizeof(Unit *));
  }
  *this = PageProfile();
}

} // namespace smalloc::numa
