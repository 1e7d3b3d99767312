// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fortran.cpp serves allocations of flang's runtime. That runtime is linked statically and calls
// malloc, which does not know the site (and serves no site under heap:guest). So the plugin calls
// this file first, with the array's descriptor. It does what flang 22's runtime does for an array
// of an intrinsic type. Flang's runtime itself handles everything else: derived types, which it
// initialises, other allocators, other versions of the descriptor, errors.
#include "smalloc/core/runtime.h"
#include "smalloc/override/foreign.h"
#include "smalloc/override/fortran_descriptor.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
  // Behind a pointer's target flang stores the complement of its address, which DEALLOCATE tests.
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

/// True if an element of `from` may lie in [start, start + bytes).
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

void copy_row(char *to, const char *from, int64_t elements, int64_t bytes, int64_t stride) {
  if (stride == bytes) {
    memcpy(to, from, static_cast<size_t>(elements * bytes));
    return;
  }
  for (int64_t i = 0; i < elements; i++, to += bytes, from += stride) {
    if (bytes == 8)
      memcpy(to, from, 8); // by one load and store
    else if (bytes == 4)
      memcpy(to, from, 4);
    else
      memcpy(to, from, static_cast<size_t>(bytes));
  }
}

/// Copies all elements of `from`, of the same shape or a single one, to `to`, which is contiguous.
void copy_elements(const Descriptor &to, const Descriptor &from) {
  int64_t at[kMostRank] = {}, rows = 1;
  char *into = to.base;
  const int64_t row = to.rank == 0 ? 1 : to.dimensions[0].extent;
  for (unsigned i = 1; i < to.rank; i++)
    rows *= to.dimensions[i].extent;
  const char *source = from.base;
  for (int64_t k = 0; k < rows; k++, into += row * to.element_bytes) {
    const int64_t stride = from.rank == 0 ? 0 : from.dimensions[0].stride_bytes;
    copy_row(into, source, row, to.element_bytes, stride);
    for (unsigned i = 1; i < from.rank; i++) {
      source += from.dimensions[i].stride_bytes;
      if (++at[i] < from.dimensions[i].extent)
        break;
      source -= at[i] * from.dimensions[i].stride_bytes;
      at[i] = 0;
    }
  }
}

bool same_shape(const Descriptor &a, const Descriptor &b) {
  bool same = a.rank == b.rank;
  for (unsigned i = 0; same && i < a.rank; i++)
    same = a.dimensions[i].extent == b.dimensions[i].extent;
  return same;
}

bool may_allocate(const Descriptor &d) {
  return (d.attribute == kPointer || (d.attribute == kAllocatable && !d.base)) && is_plain(d);
}

} // namespace

SMALLOC_EXPORT int __smalloc_v1_fortran_allocate(void *descriptor, smalloc_cell *cell) {
  auto &d = *static_cast<Descriptor *>(descriptor);
  return may_allocate(d) && allocate(d, cell) ? 0 : -1;
}

SMALLOC_EXPORT int __smalloc_v1_fortran_source(void *to_descriptor, const void *from_descriptor,
                                               smalloc_cell *cell) {
  auto &to = *static_cast<Descriptor *>(to_descriptor);
  auto &from = *static_cast<const Descriptor *>(from_descriptor);
  const bool fits = may_allocate(to) && is_plain(from) && from.base && from.type == to.type &&
                    from.element_bytes == to.element_bytes &&
                    (from.rank == 0 || same_shape(to, from));
  if (!fits || !allocate(to, cell))
    return -1;
  copy_elements(to, from);
  return 0;
}

SMALLOC_EXPORT int __smalloc_v1_fortran_copy_in(void *copy_descriptor,
                                                const void *section_descriptor,
                                                smalloc_cell *cell) {
  auto &copy = *static_cast<Descriptor *>(copy_descriptor);
  auto &section = *static_cast<const Descriptor *>(section_descriptor);
  if (!is_plain(section) || !section.base)
    return -1;
  memcpy(&copy, &section, offsetof(Descriptor, dimensions) + section.rank * sizeof(Dimension));
  copy.attribute = kAllocatable;
  copy.base = nullptr;
  if (!allocate(copy, cell))
    return -1;
  copy_elements(copy, section);
  return 0;
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
    to.base = nullptr; // if the allocation fails, the assignment allocates
  }
  for (unsigned i = 0; i < to.rank; i++) {
    to.dimensions[i].lower_bound = from.dimensions[i].lower_bound;
    to.dimensions[i].extent = from.dimensions[i].extent;
  }
  allocate(to, cell);
}
