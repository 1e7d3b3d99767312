// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// units.h names the sizes that all of libsmalloc uses, and helpers to align them. Raw bytes are
// size_t and say so in their name. A position inside a slice of the reserved range (pages/region.h)
// is a UnitIndex: one unit is one superpage of 2 MiB. It depends on nothing and allocates nothing.
#ifndef SMALLOC_BASE_UNITS_H
#define SMALLOC_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

namespace smalloc {

inline constexpr size_t kBasePageBytes = 4096;
inline constexpr size_t kSuperpageBytes = size_t{2} << 20;
inline constexpr size_t kPagesPerUnit = kSuperpageBytes / kBasePageBytes;
/// Resident pages from which a collapse of the unit pays. The collapse then adds less than 2 % of
/// the unit: libsmalloc may add at most this share to the memory of base pages.
inline constexpr size_t kDensePages = kPagesPerUnit - kPagesPerUnit * 2 / 100;
/// Number of equal parts of a superpage for which OsHooks::parts_with_data() returns a bit.
inline constexpr unsigned kUnitParts = 16;
inline constexpr size_t kCacheLineBytes = 64;
inline constexpr size_t kMallocAlignment = 16; ///< of malloc and operator new, for every size
/// log2 of the page sizes, as directives and the words of cells name them.
inline constexpr unsigned kBaseShift = 12, kMediumShift = 16, kGiganticShift = 30;

/// Index of a unit in its slice of the reserved range. A unit is an aligned piece of 2 MiB.
using UnitIndex = uint32_t;
inline constexpr UnitIndex kNoUnit = UINT32_MAX;

/// Returns `value` rounded up to a multiple of `alignment`. REQUIRES: alignment is a power of two.
constexpr size_t align_up(size_t value, size_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}
constexpr size_t align_down(size_t value, size_t alignment) { return value & ~(alignment - 1); }
constexpr bool is_power_of_two(size_t value) { return value != 0 && (value & (value - 1)) == 0; }
constexpr size_t units_for(size_t bytes) { return (bytes + kSuperpageBytes - 1) / kSuperpageBytes; }
template <class T> constexpr T min_of(T a, T b) { return a < b ? a : b; }
template <class T> constexpr T max_of(T a, T b) { return a < b ? b : a; }

} // namespace smalloc

#define SMALLOC_LIKELY(x) __builtin_expect(!!(x), 1)
#define SMALLOC_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SMALLOC_COLD __attribute__((noinline, cold))
/// Inlines a function of a fast path that Clang would otherwise call (the test
/// runtime_fast_path_counts.sh counts the instructions).
#define SMALLOC_INLINED inline __attribute__((always_inline))
/// Marks the declaration of a variable that fast paths read: code reaches it without the linkage
/// table.
#define SMALLOC_NEAR __attribute__((visibility("hidden")))
#define SMALLOC_EXPORT extern "C" __attribute__((visibility("default")))
#endif
