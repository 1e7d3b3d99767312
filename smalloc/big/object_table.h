// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// object_table.h decides how an object's address leads to what is known of it: which site it came
// from, what it weighs in an estimate, whether it has been freed. Open addressing with linear
// probing; addresses are never removed, only marked freed, until a rebuild drops them. Looking up an
// address that is not there takes no lock. Used only while somebody wants statistics per site of
// small objects, or has switched debugging on.
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
  /// Memory for slots, zeroed, on whole pages; nullptr when there is none. Never given back.
  using Source = void *(*)(size_t bytes);
  struct Config {
    Source source = nullptr;
    size_t first_slots = size_t{1} << 15; ///< a power of two
    size_t most_slots = size_t{1} << 15;  ///< a power of two
  };
  bool init(const Config &config);

  /// An address that is freed already is live again. False: the table is full of live objects.
  bool insert(uintptr_t address, const ObjectNote &note);
  /// True: there, and `note` is what is known of it, freed or not. O(1), mostly without a lock.
  bool find(uintptr_t address, ObjectNote &note);
  /// Marks a live object freed, and tells what it was. False: not there, or freed already (then
  /// note.freed is true).
  bool remove(uintptr_t address, ObjectNote &note);
  /// visit may change the weight of each live object; 0 forgets it. Returns how many are left.
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
  /// Pages are aligned to 4096, so the logarithm of the size fits beside the address: a reader
  /// without the lock never sees the one without the other.
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
  std::atomic<uint32_t> version_{0}; ///< odd while being rebuilt
  SpinLock lock_;
};

} // namespace smalloc
#endif
