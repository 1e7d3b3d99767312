// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// credentials.cpp intercepts the calls by which a program changes its credentials or namespaces. In
// the kernel these belong to a thread. The C library changes all threads that it knows; the helper
// thread is none of them (bare_thread.h), and it must not keep rights that the program has given
// up. Moreover, the kernel refuses some of unshare and setns to a process with a second thread. So
// the helper ends before the call, and a later one starts with the new credentials.
#include "smalloc/core/promotion_thread.h"
#include "smalloc/override/next.h"

#include <errno.h>
#include <sys/types.h>

namespace smalloc {
namespace {

template <class... Arguments>
int without_helper(NextFunction<int(Arguments...)> &function, Arguments... arguments) {
  auto *const next = function.get();
  if (!next) {
    errno = ENOSYS;
    return -1;
  }
  promotion_thread_forbid();
  const int result = next(arguments...);
  promotion_thread_allow();
  return result;
}

} // namespace
} // namespace smalloc

// These are not glibc's declarations: those for C++ have other exception specifications.
extern "C" {
#define SMALLOC_WITHOUT_HELPER(name, parameters, types, ...)                                       \
  namespace {                                                                                      \
  constinit smalloc::NextFunction<int types> next_##name(#name);                                   \
  }                                                                                                \
  __attribute__((visibility("default"))) int smalloc_shown_##name types __asm__(#name);            \
  int smalloc_shown_##name parameters { return smalloc::without_helper(next_##name, __VA_ARGS__); }
SMALLOC_WITHOUT_HELPER(setuid, (uid_t user), (uid_t), user)
SMALLOC_WITHOUT_HELPER(seteuid, (uid_t user), (uid_t), user)
SMALLOC_WITHOUT_HELPER(setreuid, (uid_t real, uid_t effective), (uid_t, uid_t), real, effective)
SMALLOC_WITHOUT_HELPER(setresuid, (uid_t real, uid_t effective, uid_t saved), (uid_t, uid_t, uid_t),
                       real, effective, saved)
SMALLOC_WITHOUT_HELPER(setgid, (gid_t group), (gid_t), group)
SMALLOC_WITHOUT_HELPER(setegid, (gid_t group), (gid_t), group)
SMALLOC_WITHOUT_HELPER(setregid, (gid_t real, gid_t effective), (gid_t, gid_t), real, effective)
SMALLOC_WITHOUT_HELPER(setresgid, (gid_t real, gid_t effective, gid_t saved), (gid_t, gid_t, gid_t),
                       real, effective, saved)
SMALLOC_WITHOUT_HELPER(setgroups, (size_t count, const gid_t *groups), (size_t, const gid_t *),
                       count, groups)
SMALLOC_WITHOUT_HELPER(initgroups, (const char *user, gid_t group), (const char *, gid_t), user,
                       group)
SMALLOC_WITHOUT_HELPER(capset, (void *header, const void *data), (void *, const void *), header,
                       data)
SMALLOC_WITHOUT_HELPER(unshare, (int flags), (int), flags)
SMALLOC_WITHOUT_HELPER(setns, (int descriptor, int kind), (int, int), descriptor, kind)
}
