// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// quiet_file.cpp keeps SIGXFSZ of libsmalloc's own writes from the program. The kernel sends the
// signal to the writing thread. The thread blocks the signal, calls, and consumes the signal that
// its call caused. A SIGXFSZ that was already pending belongs to the program and stays.
#include "smalloc/files/quiet_file.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/files/uncancelled.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

namespace smalloc {
namespace {

/// Runs `call` with SIGXFSZ blocked, again after EINTR. Returns its result and leaves its errno.
template <class Call> auto without_signal(Call call) {
  sigset_t limit, before, waiting;
  sigemptyset(&limit);
  sigemptyset(&waiting);
  sigaddset(&limit, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &limit, &before);
  if (sigismember(&before, SIGXFSZ))
    sigpending(&waiting);
  auto result = call();
  while (result < 0 && errno == EINTR)
    result = call();
  const int error = errno;
  if (result < 0 && error == EFBIG && !sigismember(&waiting, SIGXFSZ)) {
    const timespec now = {};
    uncancelled::sigtimedwait(&limit, &now);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return result;
}

} // namespace

ssize_t write_quietly(int fd, const void *data, size_t bytes) {
  return without_signal([=] { return uncancelled::write(fd, data, bytes); });
}

ssize_t write_quietly_at(int fd, const void *data, size_t bytes, off_t offset) {
  return without_signal([=] { return uncancelled::pwrite(fd, data, bytes, offset); });
}

int truncate_quietly(int fd, off_t bytes) {
  return without_signal([=] { return ftruncate(fd, bytes); });
}

int write_all_quietly(int fd, const void *data, size_t bytes) {
  KeepErrno keep;
  for (const char *at = static_cast<const char *>(data); bytes;) {
    const ssize_t n = write_quietly(fd, at, bytes);
    if (n <= 0)
      return n < 0 ? errno : EIO;
    at += n;
    bytes -= static_cast<size_t>(n);
  }
  return 0;
}

} // namespace smalloc
