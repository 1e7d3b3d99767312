// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// locked_memory.h handles mlockall() for the reservation. Reserved memory has no pages to lock, but
// the kernel would count it against RLIMIT_MEMLOCK and show it as locked. So libsmalloc never locks
// reserved memory. It locks committed memory, as the C library's malloc would.
#ifndef SMALLOC_OS_LOCKED_MEMORY_H
#define SMALLOC_OS_LOCKED_MEMORY_H

#include <stddef.h>

namespace smalloc {

/// Lock of new mappings that the program requested by mlockall(MCL_FUTURE): none, at once, or at
/// the page fault (MCL_ONFAULT).
enum class FutureLock : unsigned char { kNone, kAtOnce, kOnFault };
void set_future_lock(FutureLock lock);
FutureLock future_lock();

/// Maps `bytes` of reserved address space without a lock. Returns MAP_FAILED and sets errno as mmap
/// does.
void *map_reserved(size_t bytes);
/// Locks a range that has just been committed, if the program requested that. Returns 0 or an errno
/// value: ENOMEM beyond RLIMIT_MEMLOCK.
int lock_committed(void *start, size_t bytes);
/// Unlocks a range that has just become a reservation again.
void unlock_reserved(void *start, size_t bytes);

/// Unlocks the reserved parts of the range after the program has locked everything. Reads
/// /proc/self/maps; takes 9 KiB of stack.
void unlock_all_reserved(const void *start, size_t bytes);

} // namespace smalloc
#endif
