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
} // namespace smalloc
