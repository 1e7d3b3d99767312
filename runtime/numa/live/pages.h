// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pages.h decides where the migrator's own memory comes from: anonymous mappings on base pages, never the program's
// malloc, so that profiling changes nothing of what is profiled and works while the program is inside its allocator.
#ifndef RUNTIME_NUMA_LIVE_PAGES_H
#define RUNTIME_NUMA_LIVE_PAGES_H

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

namespace smalloc::numa {

/// Zeroed; nullptr: there is none. Keeps errno.
inline void *map_pages(size_t bytes) {
  const int before = errno;
  void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p != MAP_FAILED)
    madvise(p, bytes, MADV_NOHUGEPAGE);
  errno = before;
  return p == MAP_FAILED ? nullptr : p;
}
inline void unmap_pages(void *p, size_t bytes) {
  const int before = errno;
  munmap(p, bytes);
  errno = before;
}

} // namespace smalloc::numa
#endif
