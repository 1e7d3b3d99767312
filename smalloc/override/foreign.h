// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// foreign.h declares the functions through which the rest of override/ calls the process' other
// allocator, and realloc of libsmalloc's objects.
#ifndef SMALLOC_OVERRIDE_FOREIGN_H
#define SMALLOC_OVERRIDE_FOREIGN_H

#include "smalloc/include/smalloc/site.h"

#include <stddef.h>

namespace smalloc {
void release_foreign(void *p);
void *resize_foreign(void *p, size_t bytes);
size_t usable_foreign(void *p);
/// True if usable_foreign() comes from the allocator that made the object. A peer that does not
/// define malloc_usable_size leaves the call to glibc's. That reads the bytes before the peer's
/// object as a chunk header.
bool knows_foreign_sizes();
void *allocate_foreign(size_t bytes);
/// Reallocates an object of the next allocator: moves it to libsmalloc's heap of big objects if
/// that takes it over (Runtime::takes_over), else calls the next allocator. Keeps errno on success.
/// `caller`: the return address of the program's call.
void *grow_foreign(void *p, size_t bytes, const void *caller);
/// Reallocates an object in libsmalloc's range. On success errno is kept. REQUIRES:
/// g_range.covers(p), bytes > 0.
void *resize_ours(void *p, size_t bytes, smalloc_cell *cell = nullptr);
} // namespace smalloc
#endif
