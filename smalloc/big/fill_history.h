// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fill_history.h records for each origin of big objects whether the program filled the last objects
// from there. An origin is a site's cell, or the return address of the call to malloc. If its last
// two objects were filled, the next one gets superpages at first touch. An object that is freed
// with most pages untouched resets the count. Sizes of different powers of two are counted
// separately. An origin without an object of that size yet is predicted from its objects of all
// sizes.
#ifndef SMALLOC_BIG_FILL_HISTORY_H
#define SMALLOC_BIG_FILL_HISTORY_H

#include "smalloc/base/units.h"

#include <atomic>

namespace smalloc {

class FillHistory {
public:
  static constexpr uint8_t kTrusted = 2; ///< consecutive filled objects
  static constexpr size_t kLargeUnits = 16;

  /// Returns the key of `origin` and its objects of about `bytes` bytes. 0: no origin.
  static uint64_t key(const void *origin, size_t bytes) {
    static_assert(48 + 6 + 1 + 6 + 2 <= 64, "an address of 48 bits, and an entry's other fields");
    return origin ? reinterpret_cast<uintptr_t>(origin) << 6 |
                        static_cast<uint64_t>(63 - __builtin_clzll(bytes | 1))
                  : 0;
  }

  /// True if the last kTrusted objects with this key were filled. Objects of other sizes predict
  /// one of at most twice their size, since a wrapper of malloc is one origin for everything. An
  /// array that doubles is reallocated before its smaller half is freed. So if each filled object
  /// was larger than the one before, they predict one of four times their size.
  bool trusts(uint64_t key) const {
    if (!key)
      return false;
    const Entry exact = find(key);
    if (exact.known)
      return exact.count >= kTrusted;
    const Entry any = find(of_any_size(key));
    return any.count >= kTrusted && key % kSizes <= any.largest + 1u + any.rises;
  }
  /// True if further filled objects with this key would not change the prediction.
  bool is_settled(uint64_t key) const { return !key || find(key).count == kCounts - 1; }
  /// True if the last object with this key was freed unfilled.
  bool knows_sparse(uint64_t key) const {
    const Entry exact = find(key);
    return exact.known && exact.count == 0;
  }
  /// Records that an object of `units` units was filled. A large one counts twice: many parts of it
  /// were examined.
  void filled(uint64_t key, size_t units) {
    const unsigned weight = units >= kLargeUnits ? 2 : 1;
    add(key, weight);
    add(of_any_size(key), weight, key % kSizes);
  }
  void stayed_sparse(uint64_t key) {
    add(key, 0);
    add(of_any_size(key), 0);
  }

private:
  static constexpr size_t kEntries = 1024;
  static constexpr uint64_t kCounts = 4, kSizes = 64, kRises = 2;
  struct Entry {
    bool known;
    unsigned count, largest; ///< largest: log2 of the largest filled size
    bool rises;              ///< the last filled object was larger than all before
  };
  static constexpr uint64_t of_any_size(uint64_t key) { return key | (kSizes - 1); }
  static size_t place(uint64_t key) { return (key * 0x9e3779b97f4a7c15u) >> 54; }
  /// An entry holds the key, then `rises`, `largest`, and the count.
  Entry find(uint64_t key) const {
    const uint64_t entry = entries_[place(key)].load(std::memory_order_relaxed);
    if (key == 0 || entry / (kCounts * kSizes * kRises) != key)
      return {};
    return {true, static_cast<unsigned>(entry % kCounts),
            static_cast<unsigned>(entry / kCounts % kSizes),
            entry / (kCounts * kSizes) % kRises != 0};
  }
  /// Without a lock: a lost update or a collision of two keys only costs the quality of an
  /// estimate.
  void add(uint64_t key, unsigned weight, uint64_t size = 0) {
    const Entry e = find(key);
    const uint64_t count = weight ? min_of<uint64_t>(e.count + weight, kCounts - 1) : 0;
    const uint64_t rises = e.known && size > e.largest;
    entries_[place(key)].store(
        ((key * kRises + rises) * kSizes + max_of<uint64_t>(e.largest, size)) * kCounts + count,
        std::memory_order_relaxed);
  }
  std::atomic<uint64_t> entries_[kEntries] = {};
};

} // namespace smalloc
#endif
