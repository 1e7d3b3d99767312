// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// locked_memory.h decides what mlockall() means for our reservation: what is only reserved has no pages
// to lock, but the kernel counts it against RLIMIT_MEMLOCK and shows it as locked. So reserved memory is
// never locked, and committed memory is, as the C library's would be.
#ifndef SMALLOC_OS_LOCKED_MEMORY_H
#define SMALLOC_OS_LOCKED_MEMORY_H

#include <stddef.h>

namespace smalloc {

/// What the program asked for new mappings by mlockall(MCL_FUTURE), and MCL_ONFAULT.
enum class FutureLock : unsigned char { kNone, kAtOnce, kOnFault };
void set_future_lock(FutureLock lock);
FutureLock future_lock();

/// Maps address space that may be reserved only, without a lock. Returns MAP_FAILED and errno as mmap.
void *map_reserved(size_t bytes);
/// A reserved range was made usable: locks it if the program wants that. Returns 0 or an errno value:
/// ENOMEM beyond RLIMIT_MEMLOCK.
int lock_committed(void *start, size_t bytes);
/// A range was made a reservation again.
void unlock_reserved(void *start, size_t bytes);

/// Everything is locked: unlocks what is only reserved in the range. Reads /proc/self/maps; takes 9 KiB
/// of stack.
void unlock_all_reserved(const void *start, size_t bytes);

} // namespace smalloc
#endif
