// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// own_madvise.h tells our own advice from the program's: libsmalloc defines madvise() to see what the program gives
// back (override/limits.cpp), and our calls hold locks that it takes. They go where they would go if we had no
// definition: to the C library's, or to that of a library that watches or refuses calls, in front of us or behind.
#ifndef SMALLOC_OS_OWN_MADVISE_H
#define SMALLOC_OS_OWN_MADVISE_H

#include <atomic>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace smalloc {

using Madvise = int(void *, size_t, int);
/// g_first_madvise: the first definition of madvise() in the load order that is not libsmalloc's.
/// g_next_madvise: the first one behind libsmalloc's. A constructor looks both up, because a later look-up may
/// wait for the loader's lock. While one is null, call_madvise() uses the system call.
inline std::atomic<Madvise *> g_first_madvise{nullptr}, g_next_madvise{nullptr};
/// The calling thread is inside own_madvise(): what comes back to our definition is not the program's.
inline __thread bool t_own_madvise __attribute__((tls_model("initial-exec"))) = false;

inline int call_madvise(Madvise *definition, void *start, size_t bytes, int advice) {
  return definition ? definition(start, bytes, advice)
                    : static_cast<int>(syscall(SYS_madvise, start, bytes, advice));
}

/// As madvise(2), errno set.
inline int own_madvise(void *start, size_t bytes, int advice) {
  t_own_madvise = true;
  const int result =
      call_madvise(g_first_madvise.load(std::memory_order_relaxed), start, bytes, advice);
  t_own_madvise = false;
  return result;
}

} // namespace smalloc
#endif
