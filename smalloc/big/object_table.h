// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// object_table.h maps an object's address to its note: its site, its weight in an estimate, whether
// it has been freed. The table uses open addressing with linear probing. Addresses are only marked
// freed, never removed, until a rebuild drops them. Looking up an absent address takes no lock. The
// table is used only while statistics per site of small objects are requested, or debugging is on.
#ifndef SMALLOC_BIG_OBJECT_TABLE_H
#define SMALLOC_BIG_OBJECT_TABLE_H

#include "smalloc/base/spin_lock.h"

#include <stddef.h>
#include <stdint.h>

namespace smalloc {

struct ObjectNote {
  uint32_t weight = 0; ///< bytes, or sample points
  uint16_t account = 0;
  bool freed = false;
};

class ObjectTable {
public:
  /// Returns zeroed memory for slots, on whole pages; nullptr when there is none. The table never
  /// releases it.
  using Source = void *(*)(size_t bytes);
  struct Config {
    Source source = nullptr;
    size_t first_slots = size_t{1} << 15; ///< a power of two
    size_t most_slots = size_t{1} << 15;  ///< a power of two
  };
  bool init(const Config &config);

  /// Inserts a live object; an address that is marked freed becomes live again. False: the table is
  /// full of live objects.
  bool insert(uintptr_t address, const ObjectNote &note);
  /// Stores the note of `address` in `note`. True if the address is in the table, freed or not.
  /// O(1), mostly without a lock.
  bool find(uintptr_t address, ObjectNote &note);
  /// Marks a live object freed and stores its note. False: absent, or freed already (then
  /// note.freed is true).
  bool remove(uintptr_t address, ObjectNote &note);
  /// Calls `visit` for each live object, which returns the new weight; 0 removes the object.
  /// Returns the number of live objects.
  size_t rework(uint32_t (*visit)(const ObjectNote &note, void *data), void *data);

  size_t live() const { return live_; }
  size_t slots() const { return view().slots; }
  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

private:
  struct Slot {
    std::atomic<uintptr_t> address;
    ObjectNote note;
  };
  struct View {
    Slot *table;
    size_t slots;
  };
  /// The table pointer and the logarithm of its size, in one word: pages are aligned to 4096, so
  /// the logarithm fits into the low bits. A reader without the lock always sees both of the same
  /// table.
  View view() const {
    uintptr_t word = view_.load(std::memory_order_acquire);
    return {reinterpret_cast<Slot *>(word & ~uintptr_t{63}), size_t{1} << (word & 63)};
  }
  static Slot *probe(const View &v, uintptr_t address);
  static uintptr_t pack(Slot *table, size_t slots);
  bool rebuild(size_t slots);

  Config config_;
  std::atomic<uintptr_t> view_{0};
  Slot *spare_ = nullptr; ///< of the same size, to rebuild into
  size_t used_ = 0, live_ = 0;
  std::atomic<uint32_t> version_{0}; ///< odd during a rebuild
  SpinLock lock_;
};

} // namespace smalloc
#endif
