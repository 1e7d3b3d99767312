// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fortran.cpp decides which allocations of flang's runtime are ours. That runtime is linked
// statically and calls malloc, which a guest does not interpose; so the plugin asks here first, with
// the array's descriptor. What this file does is what flang 22's runtime does for an array of an
// intrinsic type; anything else (derived types, which it initialises, other allocators, other
// versions of the descriptor, errors) is its own business.
#include "smalloc/core/runtime.h"
#include "smalloc/override/foreign.h"
#include "smalloc/override/fortran_descriptor.h"

#include <stdint.h>

using namespace smalloc::fortran;
using smalloc::g_range;
using smalloc::g_runtime;

namespace {

void set_strides(Descriptor &d) {
  int64_t stride = d.element_bytes;
  for (unsigned i = 0; i < d.rank; i++) {
    d.dimensions[i].stride_bytes = stride;
    stride *= d.dimensions[i].extent;
  }
}

bool allocate(Descriptor &d, smalloc_cell *cell) {
  uint64_t bytes;
  if (!bytes_of(d, bytes) || bytes == 0)
    return false;
  // Behind a pointer's target lies the complement of its address, which DEALLOCATE looks for.
  const bool pointer = d.attribute == kPointer;
  const uint64_t payload = (bytes + 7) & ~uint64_t{7};
  auto *p = static_cast<char *>(
      g_runtime.site_allocate(cell, pointer ? payload + sizeof(uintptr_t) : bytes, 16, false));
  if (!p)
    return false;
  if (pointer)
    *reinterpret_cast<uintptr_t *>(p + payload) = ~reinterpret_cast<uintptr_t>(p);
  d.base = p;
  set_strides(d);
  return true;
}

/// May an element of `from` lie in [start, start + bytes)?
bool overlaps(const Descriptor &from, const char *start, uint64_t bytes) {
  int64_t low = 0, high = from.element_bytes;
  for (unsigned i = 0; i < from.rank; i++) {
    int64_t way;
    if (from.dimensions[i].extent <= 0)
      return false;
    if (__builtin_mul_overflow(from.dimensions[i].extent - 1, from.dimensions[i].stride_bytes,
                               &way))
      return true;
    (way < 0 ? low : high) += way;
  }
  return from.base + low < start + bytes && start < from.base + high;
}

} // namespace

SMALLOC_EXPORT int __smalloc_v1_fortran_allocate(void *descriptor, smalloc_cell *cell) {
  auto &d = *static_cast<Descriptor *>(descriptor);
  const bool fits = d.attribute == kPointer || (d.attribute == kAllocatable && !d.base);
  return fits && is_plain(d) && allocate(d, cell) ? 0 : -1;
}

SMALLOC_EXPORT void __smalloc_v1_fortran_assign(void *to_descriptor, const void *from_descriptor,
                                                smalloc_cell *cell) {
  auto &to = *static_cast<Descriptor *>(to_descriptor);
  auto &from = *static_cast<const Descriptor *>(from_descriptor);
  uint64_t old_bytes, new_bytes;
  if (!assignment_allocates(to, from) || !bytes_of(from, new_bytes) ||
      new_bytes < smalloc::kSuperpageBytes || !g_runtime.site_accepts(cell, new_bytes))
    return;
  if (to.base) {
    if (!bytes_of(to, old_bytes) || overlaps(from, to.base, old_bytes))
      return;
    if (g_range.contains(to.base))
      g_runtime.release(to.base);
    else
      smalloc::release_foreign(to.base);
    to.base = nullptr; // should the allocation fail, the assignment makes one
  }
  for (unsigned i = 0; i < to.rank; i++) {
    to.dimensions[i].lower_bound = from.dimensions[i].lower_bound;
    to.dimensions[i].extent = from.dimensions[i].extent;
  }
  allocate(to, cell);
}
