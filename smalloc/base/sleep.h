// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sleep.h lets a thread wait inside malloc, free or a fork. libc's nanosleep is a cancellation
// point: a thread cancelled there would end with libsmalloc's locks held. A system call by number
// is none.
#ifndef SMALLOC_BASE_SLEEP_H
#define SMALLOC_BASE_SLEEP_H

#include "smalloc/base/keep_errno.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace smalloc {

/// Sleeps `ns` nanoseconds, below a second, or until a signal comes. Keeps errno.
inline void sleep_ns(long ns) {
  const KeepErrno keep;
  const timespec time = {0, ns};
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, nullptr);
}

} // namespace smalloc
#endif
