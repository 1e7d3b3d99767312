// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// small_packing.h places new small objects in partly used slabs while the heap is fragmented. A
// thread's cache hands out the last freed object, wherever it lies. After a program has freed most
// of its objects, new objects take the freed places, and pages with a few objects each never become
// empty. An object taken from the arena comes from the oldest slab that has room. Old slabs then
// fill up and young ones become empty. That is slower by an order of magnitude. So it is done only
// for classes with much room, and in 1 % of the time.
#ifndef SMALLOC_SMALL_SMALL_PACKING_H
#define SMALLOC_SMALL_SMALL_PACKING_H

#include <atomic>
#include <stdint.h>

namespace smalloc {

/// Memory of one size class in jemalloc's slabs.
struct ClassCensus {
  uint64_t live_bytes, slab_bytes;
};

class SmallPacking {
public:
  static constexpr unsigned kMostClasses = 64;
  /// Free bytes in slabs below which the heap's fragmentation is ignored.
  static constexpr uint64_t kLeastRoomBytes = uint64_t{8} << 20;
  static constexpr unsigned kRoomPercent = 10; ///< of all slabs: accepted fragmentation
  /// Of a class' slabs: from here on the class is filled.
  static constexpr unsigned kClassRoomPercent = 10;
  /// Costs of an allocation from the arena, and of the longer path of one that is not.
  static constexpr int64_t kPackedNs = 120, kOtherNs = 60;
  static constexpr uint64_t kLookNs = 1000000000;
  /// The most credit that a long quiet time earns.
  static constexpr int64_t kMostCreditNs = 1000000000;

  /// True if it is time for a census. Returns true to one caller, at most once in kLookNs.
  bool due(uint64_t now_ns);
  /// Evaluates a census of all classes. Adds 1 % of the time since the last one to the credit.
  void counted(const ClassCensus *classes, unsigned count, uint64_t now_ns);

  bool any() const { return classes_.load(std::memory_order_relaxed) != 0; }
  bool wants(unsigned index) const {
    return index < kMostClasses && (classes_.load(std::memory_order_relaxed) >> index & 1);
  }
  /// Charges an allocation on the long path. Ends packing of all classes when the credit is used
  /// up.
  void pay(bool packed);
  uint64_t packed_objects() const { return packed_.load(std::memory_order_relaxed); }

private:
  std::atomic<uint64_t> classes_{0}, due_ns_{0}, counted_ns_{0}, packed_{0};
  std::atomic<int64_t> credit_ns_{0};
};

} // namespace smalloc
#endif
