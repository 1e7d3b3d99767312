// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory_file.cpp implements memory_file.h: it copies the pieces into a new mapping and moves that
// mapping over the old one by mremap. If any call fails, the memory stays as it was.
#include "smalloc/files/memory_file.h"
#include "smalloc/files/high_descriptor.h"
#include "smalloc/files/quiet_file.h"
#include "smalloc/files/uncancelled.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u // Linux 6.3; without this flag that kernel writes a line into its log
#endif

namespace smalloc {
namespace {
/// Creates a memory file with a high descriptor number. Returns -1 on failure.
int open_out_of_the_way(const char *name) {
  int fd = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
  if (fd < 0 && errno == EINVAL)
    fd = memfd_create(name, MFD_CLOEXEC);
  if (fd < 0)
    return -1;
  int high = duplicate_high(fd);
  uncancelled::close(fd);
  return high;
}

/// Copies `pieces` to `fresh`, then moves that mapping over the old one in one step.
bool move_in_place(void *fresh, void *start, size_t bytes, const MemoryPiece *pieces,
                   size_t count) {
  for (size_t i = 0; i < count; i++)
    memcpy(static_cast<char *>(fresh) + pieces[i].offset,
           static_cast<char *>(start) + pieces[i].offset, pieces[i].bytes);
  return mremap(fresh, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, start) == start;
}

void *map_private(size_t bytes) {
  void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}
} // namespace

int replace_by_memory_file(const char *name, void *start, size_t bytes, const MemoryPiece *pieces,
                           size_t count) {
  int saved = errno;
  int fd = open_out_of_the_way(name);
  void *fresh = MAP_FAILED;
  if (fd >= 0 && fchmod(fd, 0600) == 0 && truncate_quietly(fd, static_cast<off_t>(bytes)) == 0)
    fresh = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fresh == MAP_FAILED || !move_in_place(fresh, start, bytes, pieces, count)) {
    if (fresh != MAP_FAILED)
      munmap(fresh, bytes);
    if (fd >= 0)
      uncancelled::close(fd);
    fd = -1;
  }
  errno = saved;
  return fd;
}

void *spare_private_memory(size_t bytes) {
  int saved = errno;
  void *p = map_private(bytes);
  errno = saved;
  return p;
}

bool replace_by_private_memory(void *start, size_t bytes, const MemoryPiece *pieces, size_t count,
                               void *spare) {
  int saved = errno;
  bool done = false;
  if (void *fresh = map_private(bytes)) {
    done = move_in_place(fresh, start, bytes, pieces, count);
    if (!done)
      munmap(fresh, bytes);
  }
  if (!done && spare)
    done = move_in_place(spare, start, bytes, pieces, count);
  errno = saved;
  return done;
}

void close_memory_file(int fd, const char *name) {
  int saved = errno;
  char path[32] = "/proc/self/fd/", target[64], digits[12];
  size_t length = strlen(path), n = 0;
  for (auto rest = static_cast<unsigned>(fd); n == 0 || rest; rest /= 10)
    digits[n++] = static_cast<char>('0' + rest % 10);
  while (n)
    path[length++] = digits[--n];
  ssize_t size = readlink(path, target, sizeof target - 1);
  constexpr char kPrefix[] = "/memfd:";
  if (size > 0) {
    target[size] = 0;
    const char *rest = target + sizeof kPrefix - 1 + strlen(name);
    if (strncmp(target, kPrefix, sizeof kPrefix - 1) == 0 &&
        strncmp(target + sizeof kPrefix - 1, name, strlen(name)) == 0 &&
        (*rest == 0 || strcmp(rest, " (deleted)") == 0))
      uncancelled::close(fd);
  }
  errno = saved;
}

} // namespace smalloc
