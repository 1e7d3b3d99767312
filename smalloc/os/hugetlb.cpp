// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hugetlb.cpp decides how memory of the hugetlb pool gets into our range: libhugetlbfs tells the
// sizes and finds the mount (hugetlbfs_unlinked_fd_for_size); without a mount the kernel's
// anonymous MAP_HUGETLB serves. A mapping reserves its pages when made, but a cgroup's limit
// strikes at the fault, as SIGBUS; so pages are populated at once by MADV_POPULATE_WRITE, which
// reports instead of killing. Mappings are private: after fork, the writer copies, and a child that
// finds the pool empty dies (the kernel's rule); programs that fork and go on writing should use
// THP.
#include "smalloc/os/hugetlb.h"
#include "smalloc/base/units.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MAP_HUGE_2MB
#define MAP_HUGE_2MB (21 << 26)
#endif

namespace smalloc {
namespace {
int (*unlinked_fd_for_size)(long);

void back_to_reserved(void *start, size_t bytes, int protection) {
  mmap(start, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (protection == PROT_NONE)
    madvise(start, bytes, MADV_DONTDUMP);
}
} // namespace

const char *hugetlb_open() {
  void *library = dlopen("libhugetlbfs.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    library = dlopen("libhugetlbfs.so", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    dlerror();
    return "libhugetlbfs is not installed";
  }
  auto sizes = reinterpret_cast<int (*)(long *, int)>(dlsym(library, "gethugepagesizes"));
  unlinked_fd_for_size =
      reinterpret_cast<int (*)(long)>(dlsym(library, "hugetlbfs_unlinked_fd_for_size"));
  if (!sizes || !unlinked_fd_for_size) {
    dlerror();
    return "libhugetlbfs lacks the functions we need";
  }
  long found[16];
  int n = sizes(found, 16);
  for (int i = 0; i < n; i++)
    if (found[i] == static_cast<long>(kSuperpageBytes))
      return nullptr;
  return "the kernel has no hugetlb pages of 2 MiB";
}

int map_hugetlb(void *start, size_t bytes) {
  int saved = errno, flags = MAP_PRIVATE | MAP_FIXED;
  int fd = unlinked_fd_for_size ? unlinked_fd_for_size(static_cast<long>(kSuperpageBytes)) : -1;
  if (fd < 0)
    flags |= MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_2MB;
  void *p = mmap(start, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  int error = p == MAP_FAILED ? errno : 0;
  if (fd >= 0)
    close(fd);
  if (!error && madvise(start, bytes, MADV_POPULATE_WRITE) != 0)
    error = errno;
  if (error)
    back_to_reserved(start, bytes, PROT_READ | PROT_WRITE);
  errno = saved;
  return error;
}

int unmap_hugetlb(void *start, size_t bytes) {
  int saved = errno;
  back_to_reserved(start, bytes, PROT_NONE);
  errno = saved;
  return 0;
}

} // namespace smalloc
