// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/os/locked_memory.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/base/units.h"
#include "smalloc/files/input_lines.h"
#include "smalloc/files/uncancelled.h"

#include <atomic>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifndef MLOCK_ONFAULT
#define MLOCK_ONFAULT 1
#endif

namespace smalloc {
namespace {
std::atomic<FutureLock> g_future{FutureLock::kNone};
constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
} // namespace

void set_future_lock(FutureLock lock) { g_future.store(lock, std::memory_order_relaxed); }
FutureLock future_lock() { return g_future.load(std::memory_order_relaxed); }

// Maps one page, unlocks it, and grows that mapping to `bytes`. The kernel refuses to map more than
// may be locked. An unlocked mapping grows without a lock and without counting against the limit.
void *map_reserved(size_t bytes) {
  if (future_lock() == FutureLock::kNone)
    return mmap(nullptr, bytes, PROT_NONE, kReserved, -1, 0);
  void *seed = mmap(nullptr, kBasePageBytes, PROT_NONE, kReserved, -1, 0);
  if (seed == MAP_FAILED)
    return seed;
  munlock(seed, kBasePageBytes);
  void *all = mremap(seed, kBasePageBytes, bytes, MREMAP_MAYMOVE);
  if (all == MAP_FAILED) {
    KeepErrno keep;
    munmap(seed, kBasePageBytes);
  }
  return all;
}

int lock_committed(void *start, size_t bytes) {
  const FutureLock lock = future_lock();
  if (lock == FutureLock::kNone)
    return 0;
  KeepErrno keep;
  if (mlock2(start, bytes, lock == FutureLock::kOnFault ? MLOCK_ONFAULT : 0) == 0)
    return 0;
  return errno == ENOSYS || errno == EINVAL ? 0 : ENOMEM; // EPERM: the process may lock nothing
}

void unlock_reserved(void *start, size_t bytes) {
  KeepErrno keep;
  if (future_lock() != FutureLock::kNone)
    munlock(start, bytes);
}

void unlock_all_reserved(const void *start, size_t bytes) {
  KeepErrno keep;
  const int fd = uncancelled::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  char buffer[8192];
  InputLines lines(fd, SIZE_MAX, buffer, sizeof buffer);
  const auto first = reinterpret_cast<uintptr_t>(start), last = first + bytes;
  Text line;
  bool cut;
  while (lines.next(line, cut)) { // "7f0000000000-7f0000200000 ---p ..."
    char *at;
    const uintptr_t from = max_of<uintptr_t>(strtoul(line.data, &at, 16), first);
    const uintptr_t to = *at == '-' ? min_of<uintptr_t>(strtoul(at + 1, &at, 16), last) : 0;
    if (from < to && at[0] == ' ' && at[1] == '-' && at[2] == '-')
      munlock(reinterpret_cast<void *>(from), to - from);
  }
  uncancelled::close(fd);
}

} // namespace smalloc
