// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// foreign.h decides the names under which the rest of override/ reaches the process' other
// allocator, and realloc of what is ours.
#ifndef SMALLOC_OVERRIDE_FOREIGN_H
#define SMALLOC_OVERRIDE_FOREIGN_H

#include "smalloc/include/smalloc/site.h"

#include <stddef.h>

namespace smalloc {
void release_foreign(void *p);
void *resize_foreign(void *p, size_t bytes);
size_t usable_foreign(void *p);
/// Is usable_foreign() of the allocator that made the object? A peer that does not define malloc_usable_size leaves it to glibc's, which
/// takes what lies before the peer's object for a chunk's head.
bool knows_foreign_sizes();
void *allocate_foreign(size_t bytes);
/// REQUIRES: g_range.covers(p), bytes > 0. errno is kept where it succeeds.
void *resize_ours(void *p, size_t bytes, smalloc_cell *cell = nullptr);
} // namespace smalloc
#endif
