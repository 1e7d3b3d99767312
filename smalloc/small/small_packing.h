// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// small_packing.h decides when new small objects go where memory is full already. A thread's cache
// hands out what was freed last, wherever that lies: after a program has freed most of its objects,
// the new ones go on taking the places of the old, and pages that hold a few objects each never
// empty. Taken from the arena instead, an object comes from the oldest slab that has room, so the
// old ones fill up and the young ones empty. That is slower by an order of magnitude; so it is done
// for classes with much room only, and in 1 % of the time.
#ifndef SMALLOC_SMALL_SMALL_PACKING_H
#define SMALLOC_SMALL_SMALL_PACKING_H

#include "smalloc/base/units.h"

#include <atomic>
#include <stddef.h>
#include <stdint.h>

namespace smalloc {

/// What jemalloc's slabs of a class hold.
struct ClassCensus {
  uint64_t live_bytes, slab_bytes;
};

class SmallPacking {
public:
  static constexpr unsigned kMostClasses = 64;
  /// Room in slabs that nobody needs to look at: a heap below this has none to speak of.
  static constexpr uint64_t kLeastRoomBytes = uint64_t{8} << 20;
  static constexpr unsigned kRoomPercent = 10; ///< of all slabs: fragmentation that is accepted
  static constexpr unsigned kClassRoomPercent = 10; ///< of a class' slabs: worth filling
  /// Prices of an allocation: from the arena, and the longer way of one that is not.
  static constexpr int64_t kPackedNs = 120, kOtherNs = 60;
  static constexpr uint64_t kLookNs = 1000000000;
  static constexpr int64_t kMostCreditNs = 1000000000; ///< a long quiet time pays for so much

  /// Is it time to count? One caller gets true, at most once in kLookNs.
  bool due(uint64_t now_ns);
  /// Of each class what its slabs hold. Earns 1 % of the time since the last one.
  void counted(const ClassCensus *classes, unsigned count, uint64_t now_ns);

  bool any() const { return classes_.load(std::memory_order_relaxed) != 0; }
  bool wants(unsigned index) const {
    return index < kMostClasses && (classes_.load(std::memory_order_relaxed) >> index & 1);
  }
  /// An allocation has taken the long way. Ends it for all classes when nothing is left to pay it.
  void pay(bool packed);
  uint64_t packed_objects() const { return packed_.load(std::memory_order_relaxed); }

private:
  std::atomic<uint64_t> classes_{0}, due_ns_{0}, counted_ns_{0}, packed_{0};
  std::atomic<int64_t> credit_ns_{0};
};

} // namespace smalloc
#endif
