// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// guest.cpp decides what "the program's malloc" is for libsmalloc.so, which defines none: the name
// itself.
#include "smalloc/core/runtime.h"
#include "smalloc/override/foreign.h"

#include <stdlib.h>

namespace smalloc {
NextAllocator g_next = {release_foreign, resize_foreign, malloc, usable_foreign,
                        count_foreign_frees};

void *allocate_foreign(size_t bytes) { return malloc(bytes); }
void *allocate_foreign_zeroed(size_t bytes) { return calloc(1, bytes); }
void *allocate_foreign_aligned(size_t alignment, size_t bytes) {
  void *p = nullptr;
  return posix_memalign(&p, alignment, bytes) == 0 ? p : nullptr;
}
} // namespace smalloc
