// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hugetlb.h decides that the 2 MiB pool is reached through libhugetlbfs (loaded only when
// pages:hugetlb asks for it), and how a refusal is told from success before any program's store can
// hit it.
#ifndef SMALLOC_OS_HUGETLB_H
#define SMALLOC_OS_HUGETLB_H

#include <stddef.h>

namespace smalloc {

/// Loads libhugetlbfs and checks that pages of 2 MiB exist. nullptr: ready; else why not, for a
/// warning. Allocates (dlopen): never called with a lock held or from within malloc.
const char *hugetlb_open();
int map_hugetlb(void *start, size_t bytes);
int unmap_hugetlb(void *start, size_t bytes);

} // namespace smalloc
#endif
