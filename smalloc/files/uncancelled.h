// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// uncancelled.h calls the kernel without cancellation points. POSIX lets neither malloc nor free be
// a cancellation point, and a thread cancelled inside libsmalloc would leave its locks held. libc's
// open, read and write are cancellation points; system calls by number are not. Results and errno
// are as from libc.
#ifndef SMALLOC_FILES_UNCANCELLED_H
#define SMALLOC_FILES_UNCANCELLED_H

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

namespace smalloc::uncancelled {

inline int open(const char *path, int flags, mode_t mode = 0) {
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
inline int close(int fd) { return static_cast<int>(syscall(SYS_close, fd)); }
inline ssize_t read(int fd, void *to, size_t bytes) { return syscall(SYS_read, fd, to, bytes); }
inline ssize_t write(int fd, const void *from, size_t bytes) {
  return syscall(SYS_write, fd, from, bytes);
}
inline ssize_t pread(int fd, void *to, size_t bytes, off_t at) {
  return syscall(SYS_pread64, fd, to, bytes, at);
}
inline ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at) {
  return syscall(SYS_pwrite64, fd, from, bytes, at);
}
inline ssize_t send(int fd, const void *from, size_t bytes, int flags) {
  return syscall(SYS_sendto, fd, from, bytes, flags, nullptr, 0);
}
inline ssize_t recv(int fd, void *to, size_t bytes, int flags) {
  return syscall(SYS_recvfrom, fd, to, bytes, flags, nullptr, nullptr);
}
/// Takes a pending signal of `set`. Returns its number; -1 if none comes within `timeout`.
inline int sigtimedwait(const sigset_t *set, const timespec *timeout) {
  constexpr size_t kSetBytes = 8; // the kernel's sigset_t
  return static_cast<int>(syscall(SYS_rt_sigtimedwait, set, nullptr, timeout, kSetBytes));
}

} // namespace smalloc::uncancelled
#endif
