// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// object_table.cpp rebuilds the table when it is three quarters full. It rebuilds into the spare
// half of its memory if at most half of the slots hold live objects, or if Config::most_slots
// permits no larger table. Otherwise it takes twice the memory.
#include "smalloc/big/object_table.h"

namespace smalloc {
namespace {
size_t hash(uintptr_t address) {
  return static_cast<size_t>((static_cast<uint64_t>(address) >> 4) * 0x9e3779b97f4a7c15u >> 20);
}
} // namespace

uintptr_t ObjectTable::pack(Slot *table, size_t slots) {
  return reinterpret_cast<uintptr_t>(table) | static_cast<unsigned>(__builtin_ctzll(slots));
}

bool ObjectTable::init(const Config &config) {
  config_ = config;
  const size_t bytes = config.first_slots * sizeof(Slot);
  auto *table = static_cast<Slot *>(config.source(bytes));
  spare_ = static_cast<Slot *>(config.source(bytes)); // now: later there may be no memory for it
  if (!table || !spare_)
    return false;
  view_.store(pack(table, config.first_slots), std::memory_order_release);
  return true;
}

/// Returns the slot of `address`, or the empty slot where it belongs.
ObjectTable::Slot *ObjectTable::probe(const View &v, uintptr_t address) {
  for (size_t i = hash(address);; i++) {
    Slot &slot = v.table[i & (v.slots - 1)];
    uintptr_t there = slot.address.load(std::memory_order_acquire);
    if (there == address || there == 0)
      return &slot;
  }
}

bool ObjectTable::rebuild(size_t slots) {
  View old = view();
  Slot *fresh = slots == old.slots ? spare_ : nullptr;
  if (!fresh)
    fresh = static_cast<Slot *>(config_.source(slots * sizeof(Slot)));
  if (!fresh)
    return false;
  version_.fetch_add(1, std::memory_order_acq_rel);
  View now = {fresh, slots};
  view_.store(pack(fresh, slots), std::memory_order_release);
  used_ = live_;
  for (size_t i = 0; i < old.slots; i++) {
    Slot &slot = old.table[i];
    uintptr_t address = slot.address.load(std::memory_order_relaxed);
    if (address != 0 && !slot.note.freed) {
      Slot *place = probe(now, address);
      place->note = slot.note;
      place->address.store(address, std::memory_order_release);
    }
    slot.address.store(0, std::memory_order_release); // for its next use as a spare
  }
  spare_ = slots == old.slots ? old.table : nullptr;
  version_.fetch_add(1, std::memory_order_acq_rel);
  return true;
}

bool ObjectTable::insert(uintptr_t address, const ObjectNote &note) {
  SpinGuard guard(lock_);
  size_t slots = view().slots;
  if (used_ >= slots / 4 * 3) {
    bool enough = live_ <= slots / 2 || slots * 2 > config_.most_slots;
    if (live_ >= slots / 4 * 3 && enough)
      return false;
    if (!rebuild(enough ? slots : slots * 2))
      return false;
  }
  Slot *slot = probe(view(), address);
  bool is_new = slot->address.load(std::memory_order_relaxed) == 0;
  used_ += is_new;
  live_ += is_new || slot->note.freed;
  slot->note = note;
  slot->note.freed = false;
  slot->address.store(address, std::memory_order_release);
  return true;
}

bool ObjectTable::find(uintptr_t address, ObjectNote &note) {
  uint32_t before = version_.load(std::memory_order_acquire);
  if (!(before & 1) && probe(view(), address)->address.load(std::memory_order_relaxed) == 0 &&
      version_.load(std::memory_order_acquire) == before)
    return false;
  SpinGuard guard(lock_);
  Slot *slot = probe(view(), address);
  if (slot->address.load(std::memory_order_relaxed) == 0)
    return false;
  note = slot->note;
  return true;
}

bool ObjectTable::remove(uintptr_t address, ObjectNote &note) {
  note = ObjectNote{};
  if (!find(address, note) || note.freed)
    return false;
  SpinGuard guard(lock_);
  Slot *slot = probe(view(), address);
  if (slot->address.load(std::memory_order_relaxed) == 0)
    return false;
  note = slot->note;
  if (note.freed)
    return false; // another thread has just freed it
  slot->note.freed = true;
  live_--;
  return true;
}

size_t ObjectTable::rework(uint32_t (*visit)(const ObjectNote &, void *), void *data) {
  SpinGuard guard(lock_);
  View v = view();
  for (size_t i = 0; i < v.slots; i++) {
    Slot &slot = v.table[i];
    if (slot.address.load(std::memory_order_relaxed) == 0 || slot.note.freed)
      continue;
    slot.note.weight = visit(slot.note, data);
    if (slot.note.weight == 0) {
      slot.note.freed = true;
      live_--;
    }
  }
  return live_;
}

} // namespace smalloc
