// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// own_madvise.h distinguishes libsmalloc's own madvise() calls from the program's. libsmalloc
// defines madvise() to observe memory that the program returns (override/limits.cpp). That
// definition takes locks that libsmalloc's own callers hold. So own calls bypass it: they go to the
// first other definition in the load order. This is the C library's, or that of a library that
// observes or refuses calls, loaded before or after libsmalloc.
#ifndef SMALLOC_OS_OWN_MADVISE_H
#define SMALLOC_OS_OWN_MADVISE_H

#include <atomic>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace smalloc {

using Madvise = int(void *, size_t, int);
/// g_first_madvise: the first definition of madvise() in the load order other than libsmalloc's.
/// g_next_madvise: the first one after libsmalloc's. A constructor looks both up, because a later
/// look-up may wait for the loader's lock. While one is null, call_madvise() uses the system call.
inline std::atomic<Madvise *> g_first_madvise{nullptr}, g_next_madvise{nullptr};
/// True while the calling thread is inside own_madvise(): a call that reaches libsmalloc's
/// definition of madvise() is then not the program's.
inline __thread bool t_own_madvise __attribute__((tls_model("initial-exec"))) = false;

/// Calls `definition`, or the system call if it is null.
inline int call_madvise(Madvise *definition, void *start, size_t bytes, int advice) {
  return definition ? definition(start, bytes, advice)
                    : static_cast<int>(syscall(SYS_madvise, start, bytes, advice));
}

/// Calls madvise(2) past libsmalloc's own definition. Sets errno.
inline int own_madvise(void *start, size_t bytes, int advice) {
  t_own_madvise = true;
  const int result =
      call_madvise(g_first_madvise.load(std::memory_order_relaxed), start, bytes, advice);
  t_own_madvise = false;
  return result;
}

} // namespace smalloc
#endif
