// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// limits.cpp intercepts calls by which a running program limits its address space (RLIMIT_AS), as
// servers of untrusted input and test runners do. The limit includes libsmalloc's reservation,
// which is hardly used. Every further mmap, stack and fork of the program would fail. So most of
// the reservation is released. A limit set by a direct system call, or by another process, is not
// noticed.
//
// mlockall() is intercepted, too. The kernel refuses it if the address space exceeds
// RLIMIT_MEMLOCK, and it locks memory that is only reserved.
//
// madvise() is intercepted as well. If the program releases some pages of a superpage of
// libsmalloc, khugepaged would make it a whole and resident superpage again.
#include "smalloc/base/keep_errno.h"
#include "smalloc/core/runtime.h"
#include "smalloc/os/own_madvise.h"
#include "smalloc/override/next.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace smalloc {
namespace {

constinit NextFunction<int(int, const rlimit *)> next_setrlimit("setrlimit");
constinit NextFunction<int(pid_t, int, const rlimit *, rlimit *)> next_prlimit("prlimit");

// Handles a successful call: only afterwards the limit is known to be valid and permitted.
int set(int result, int resource, const rlimit *limit) {
  if (result == 0 && resource == RLIMIT_AS && limit && limit->rlim_cur != RLIM_INFINITY)
    g_runtime.limit_address_space(limit->rlim_cur);
  return result;
}

int set_own(int resource, const rlimit *limit) {
  auto *next = next_setrlimit.get();
  return set(next ? next(resource, limit)
                  : static_cast<int>(syscall(SYS_prlimit64, 0, resource, limit, nullptr)),
             resource, limit);
}

int set_of(pid_t process, int resource, const rlimit *limit, rlimit *old) {
  auto *next = next_prlimit.get();
  const int result = next ? next(process, resource, limit, old)
                          : static_cast<int>(syscall(SYS_prlimit64, process, resource, limit, old));
  return process == 0 || process == getpid() ? set(result, resource, limit) : result;
}

constinit NextFunction<int(int)> next_mlockall("mlockall");
constinit NextFunction<int()> next_munlockall("munlockall");

int lock_all(int flags) {
  auto *next = next_mlockall.get();
  const auto call = [&] {
    return next ? next(flags) : static_cast<int>(syscall(SYS_mlockall, flags));
  };
  int result = call();
  rlimit limit;
  if (result != 0 && errno == ENOMEM && (flags & MCL_CURRENT) &&
      getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      g_runtime.running()) {
    g_runtime.limit_address_space(limit.rlim_cur);
    result = call();
  }
  if (result == 0)
    g_runtime.all_locked(flags & MCL_CURRENT, !(flags & MCL_FUTURE) ? FutureLock::kNone
                                              : flags & MCL_ONFAULT ? FutureLock::kOnFault
                                                                    : FutureLock::kAtOnce);
  return result;
}

int unlock_all() {
  set_future_lock(FutureLock::kNone);
  auto *next = next_munlockall.get();
  return next ? next() : static_cast<int>(syscall(SYS_munlockall));
}

constexpr int kDontNeedLocked = 24; // MADV_DONTNEED_LOCKED, Linux 5.18

int advise(void *start, size_t bytes, int advice) {
  const int result =
      call_madvise(g_next_madvise.load(std::memory_order_relaxed), start, bytes, advice);
  if (result == 0 && !t_own_madvise &&
      (advice == MADV_DONTNEED || advice == MADV_FREE || advice == kDontNeedLocked)) {
    KeepErrno keep;
    g_runtime.given_back(start, bytes);
  }
  return result;
}

} // namespace
} // namespace smalloc

// rlimit64 is the same structure on all supported processors. These are not glibc's declarations:
// those for C++ have other exception specifications.
extern "C" {
#define SMALLOC_SETS_OWN(name)                                                                     \
  __attribute__((visibility("default"))) int smalloc_shown_##name(int,                             \
                                                                  const rlimit *) __asm__(#name);  \
  int smalloc_shown_##name(int resource, const rlimit *limit) {                                    \
    return smalloc::set_own(resource, limit);                                                      \
  }
#define SMALLOC_SETS_OF(name)                                                                      \
  __attribute__((visibility("default"))) int smalloc_shown_##name(pid_t, int, const rlimit *,      \
                                                                  rlimit *) __asm__(#name);        \
  int smalloc_shown_##name(pid_t process, int resource, const rlimit *limit, rlimit *old) {        \
    return smalloc::set_of(process, resource, limit, old);                                         \
  }
SMALLOC_SETS_OWN(setrlimit)
SMALLOC_SETS_OWN(setrlimit64)
SMALLOC_SETS_OF(prlimit)
SMALLOC_SETS_OF(prlimit64)
__attribute__((visibility("default"))) int smalloc_shown_mlockall(int) __asm__("mlockall");
int smalloc_shown_mlockall(int flags) { return smalloc::lock_all(flags); }
__attribute__((visibility("default"))) int smalloc_shown_munlockall() __asm__("munlockall");
int smalloc_shown_munlockall() { return smalloc::unlock_all(); }
__attribute__((visibility("default"))) int smalloc_shown_madvise(void *, size_t,
                                                                 int) __asm__("madvise");
int smalloc_shown_madvise(void *start, size_t bytes, int advice) {
  return smalloc::advise(start, bytes, advice);
}
// libsmalloc's definition, even if another image's comes first.
int smalloc_own_madvise(void *, size_t, int)
    __attribute__((alias("madvise"), visibility("hidden")));
// Runs after libsmalloc's constructors of priority 101. Libraries opened later do not matter.
__attribute__((constructor(102))) static void find_madvise() {
  using namespace smalloc;
  const auto own = reinterpret_cast<void *>(smalloc_own_madvise);
  void *next = next_definition("madvise", own);
  void *first = first_definition("madvise");
  g_next_madvise = reinterpret_cast<Madvise *>(next);
  g_first_madvise = reinterpret_cast<Madvise *>(first == own ? next : first);
}
#undef SMALLOC_SETS_OWN
#undef SMALLOC_SETS_OF
}
