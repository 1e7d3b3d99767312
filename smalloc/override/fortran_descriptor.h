// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fortran_descriptor.h describes arrays as flang 22 does, and detects when its runtime allocates
// one. It covers intrinsic types only. Flang's runtime itself handles derived types, other
// allocators and other versions of the descriptor.
#ifndef SMALLOC_OVERRIDE_FORTRAN_DESCRIPTOR_H
#define SMALLOC_OVERRIDE_FORTRAN_DESCRIPTOR_H

#include <stdint.h>

namespace smalloc::fortran {

/// The layout of CFI_cdesc_t (ISO_Fortran_binding.h) in flang.
struct Dimension {
  int64_t lower_bound, extent, stride_bytes;
};
struct Descriptor {
  char *base;
  int64_t element_bytes;
  int32_t version;
  uint8_t rank;
  int8_t type;
  uint8_t attribute;
  uint8_t extra;
  Dimension dimensions[1];
};
inline constexpr int32_t kVersion = 20240719; ///< CFI_VERSION of flang 20 to 22
inline constexpr uint8_t kMostRank = 15, kPointer = 1, kAllocatable = 2;

/// True if the descriptor has no addendum (derived types have one) and uses the default allocator.
inline bool is_plain(const Descriptor &d) {
  return d.version == kVersion && d.extra == 0 && d.rank <= kMostRank && d.element_bytes >= 0;
}

/// Stores the bytes of all elements. False: the shape is not plausible.
inline bool bytes_of(const Descriptor &d, uint64_t &bytes) {
  bytes = static_cast<uint64_t>(d.element_bytes);
  for (unsigned i = 0; i < d.rank; i++) {
    int64_t extent = d.dimensions[i].extent;
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes))
      return false;
  }
  return bytes < uint64_t{1} << 47;
}

/// True if an assignment of `from` to `to` allocates `to` anew, because it is not allocated or has
/// another shape.
inline bool assignment_allocates(const Descriptor &to, const Descriptor &from) {
  if (to.attribute != kAllocatable || !is_plain(to) || !is_plain(from) || to.rank == 0 ||
      to.rank != from.rank || to.type != from.type || to.element_bytes != from.element_bytes)
    return false;
  bool same = to.base != nullptr;
  for (unsigned i = 0; i < to.rank; i++)
    same &= to.dimensions[i].extent == from.dimensions[i].extent;
  return !same;
}

} // namespace smalloc::fortran
#endif
