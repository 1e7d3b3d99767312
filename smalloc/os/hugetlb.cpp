// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hugetlb.cpp maps pages of a hugetlb pool into the reservation. libhugetlbfs lists the page sizes
// and opens a file of the pool's mount (hugetlbfs_unlinked_fd_for_size). Without a mount the
// kernel's anonymous MAP_HUGETLB serves. A mapping reserves its pages at once, but a cgroup's limit
// strikes only at the page fault, as SIGBUS. So map_hugetlb() populates the pages by
// MADV_POPULATE_WRITE, which returns an error instead of killing. A kernel without it (before 5.14)
// gets no hugetlb.
//
// Fork: the mappings are private, so after a fork the first write to a page copies it. If the
// parent's copy finds the pool empty, the kernel takes the page from the child, and SIGBUS ends the
// child. With pages of 1 GiB the child may find its page missing even without a write (Linux 6.18).
// Therefore a child keeps no pool pages: the parent sends it the bytes, and the child keeps them in
// ordinary memory. Bytes that other threads of the parent write meanwhile may or may not be among
// them. posix_spawn, vfork, system and popen do not run the fork handlers.
//
// The child inherits the pool's mapping until it maps ordinary memory in the same place.
// MADV_DONTFORK would leave a hole there instead. Code that maps memory in the child before
// libsmalloc's handler could then get an address inside the hole: a fork handler of another
// library, or a sanitizer's runtime that starts its thread. It would lose that memory when
// libsmalloc fills the hole. A page that another thread of the parent writes meanwhile is copied,
// or with an empty pool taken from the child, which does not read it.
#include "smalloc/os/hugetlb.h"
#include "smalloc/files/uncancelled.h"
#include "smalloc/os/locked_memory.h"
#include "smalloc/os/own_madvise.h"
#include "smalloc/os/own_stack.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace smalloc {
namespace {
int (*unlinked_fd_for_size)(long);
int (*page_sizes)(long *, int);

/// Replaces the range by reserved memory with `protection`.
void back_to_reserved(void *start, size_t bytes, int protection) {
  mmap(start, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (protection == PROT_NONE) {
    unlock_reserved(start, bytes);
    own_madvise(start, bytes, MADV_DONTDUMP);
  }
}
/// Returns a descriptor of an unnamed file in the pool, or -1. libhugetlbfs takes 5 KiB of stack.
int pool_file(size_t page_bytes) {
  int fd = -1;
  if (unlinked_fd_for_size)
    on_own_stack([&] { fd = unlinked_fd_for_size(static_cast<long>(page_bytes)); });
  return fd;
}
} // namespace

int open_hugetlb(size_t page_bytes) {
#ifdef SMALLOC_STATIC
  return ENOENT; // a static program loads no library
#endif
  if (!page_sizes) {
    void *library = dlopen("libhugetlbfs.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      library = dlopen("libhugetlbfs.so", RTLD_NOW | RTLD_LOCAL);
    if (library) {
      page_sizes = reinterpret_cast<int (*)(long *, int)>(dlsym(library, "gethugepagesizes"));
      unlinked_fd_for_size =
          reinterpret_cast<int (*)(long)>(dlsym(library, "hugetlbfs_unlinked_fd_for_size"));
    }
    if (!page_sizes || !unlinked_fd_for_size) {
      page_sizes = nullptr;
      dlerror();
      return ENOENT;
    }
  }
  long found[16];
  int n = page_sizes(found, 16);
  for (int i = 0; i < n; i++)
    if (found[i] == static_cast<long>(page_bytes))
      return 0;
  return EINVAL;
}

int map_hugetlb(void *start, size_t bytes, size_t page_bytes) {
  int saved = errno, flags = MAP_PRIVATE;
  int fd = pool_file(page_bytes);
  if (fd < 0)
    flags |= MAP_ANONYMOUS | MAP_HUGETLB | __builtin_ctzll(page_bytes) << MAP_HUGE_SHIFT;
  // Tries the mapping at another address first: a refused mapping at `start` leaves a gap there, in
  // which another thread's mapping may appear. Under a limit of address space (RLIMIT_AS), room may
  // exist only at `start`, so the call tries there anyway.
  void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  int error = p == MAP_FAILED ? errno : 0;
  rlimit limit;
  if (!error)
    munmap(p, bytes);
  const bool tries =
      !error || (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY);
  if (tries) {
    p = mmap(start, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0);
    error = p == MAP_FAILED ? errno : 0;
  }
  if (fd >= 0)
    uncancelled::close(fd);
  if (!error && own_madvise(start, bytes, MADV_POPULATE_WRITE) != 0)
    error = errno == ENOMEM ? EFAULT : errno; // ENOMEM means an exhausted pool, at mmap only
  if (error && tries)
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

bool ForkGate::prepare() {
  int saved = errno;
  bool ok = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_) == 0;
  if (!ok)
    ends_[0] = ends_[1] = -1;
  errno = saved;
  return ok;
}

bool ForkGate::send(const char *start, size_t bytes) {
  int saved = errno;
  size_t done = 0;
  while (done < bytes) {
    ssize_t n = uncancelled::send(ends_[0], start + done, bytes - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    done += static_cast<size_t>(n);
  }
  errno = saved;
  return done == bytes;
}

bool ForkGate::receive(char *start, size_t bytes) {
  int saved = errno;
  void *p =
      mmap(start, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (p == start)
    own_madvise(start, bytes, MADV_HUGEPAGE);
  size_t done = p == start ? 0 : bytes + 1;
  while (done < bytes) {
    ssize_t n = uncancelled::recv(ends_[1], start + done, bytes - done, 0);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    done += static_cast<size_t>(n);
  }
  errno = saved;
  return done == bytes;
}

void ForkGate::close_end(unsigned index) {
  int saved = errno;
  if (ends_[index] >= 0)
    uncancelled::close(ends_[index]);
  ends_[index] = -1;
  errno = saved;
}

void ForkGate::close_both() {
  close_end(0);
  close_end(1);
}

} // namespace smalloc
