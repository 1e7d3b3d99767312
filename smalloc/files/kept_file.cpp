// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kept_file.cpp compares device and inode to check that a descriptor still refers to the kept file.
#include "smalloc/files/kept_file.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/files/high_descriptor.h"
#include "smalloc/files/uncancelled.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smalloc {
namespace {

/// Moves `fd` to a high number. Returns `fd` itself if no high number is free.
int move_up(int fd) {
  const int high = duplicate_high(fd);
  if (high < 0)
    return fd;
  uncancelled::close(fd);
  return high;
}

} // namespace

void KeptFile::keep(int fd) {
  KeepErrno keep;
  struct stat info;
  fd = move_up(fd);
  if (fstat(fd, &info) == 0) {
    device_ = info.st_dev;
    inode_ = info.st_ino;
  }
  char link[48];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path_, sizeof path_ - 1);
  path_[length > 0 ? length : 0] = 0;
  fd_.store(fd);
}

bool KeptFile::is_ours(int fd) const {
  struct stat info;
  return fd >= 0 && fstat(fd, &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

int KeptFile::descriptor() {
  KeepErrno keep;
  int fd = fd_.load(std::memory_order_acquire);
  if (is_ours(fd) || fd < 0)
    return fd;
  while (reopening_.exchange(true, std::memory_order_acquire))
    sched_yield();
  fd = fd_.load();
  if (fd >= 0 && !is_ours(fd)) {
    fd = path_[0] ? uncancelled::open(path_, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW |
                                                 O_NONBLOCK | O_NOCTTY)
                  : -1;
    if (fd >= 0)
      fd = move_up(fd);
    if (fd >= 0 && !is_ours(fd)) { // another file has this name now
      uncancelled::close(fd);
      fd = -1;
    }
    fd_.store(fd, std::memory_order_release);
  }
  reopening_.store(false, std::memory_order_release);
  return fd;
}

void KeptFile::close() {
  KeepErrno keep;
  const int fd = fd_.exchange(-1);
  if (is_ours(fd))
    uncancelled::close(fd);
  reopening_.store(false); // a thread that does not exist in this child of fork may have set it
}

} // namespace smalloc
