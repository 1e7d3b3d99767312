/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * input_file.h opens files that a user names as input, for the compiler, the command and
 * libsmalloc. It accepts regular files only. A pipe, a terminal or a device may never return a
 * byte, or never end, and a build that waits for it prints nothing. So opening never waits, and
 * each refusal names the kind of file.
 */
#ifndef SMALLOC_INPUT_FILE_H
#define SMALLOC_INPUT_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns why a file of this st_mode is no input; null if it is a regular file. Static text. */
static inline const char *smalloc_not_a_file(mode_t mode) {
  switch (mode & S_IFMT) {
  case S_IFREG:
    return NULL;
  case S_IFDIR:
    return "it is a directory";
  case S_IFIFO:
    return "it is a pipe, not a file: save in one what comes out of it";
  case S_IFSOCK:
    return "it is a socket, not a file";
  default:
    return "it is a device, not a file";
  }
}

/* Opens `path` for reading and sets *bytes to its current length. Returns a descriptor at its
 * first byte. Returns -1 on failure, with the kind of file in *why, or null if errno gives the
 * reason. Allocates nothing. */
static inline int smalloc_open_input(const char *path, size_t *bytes, const char **why) {
  /* O_NONBLOCK: opening a pipe without a writer must not wait. O_NOCTTY: a terminal must not
   * become a daemon's controlling terminal. libc's open and close are cancellation points, which
   * malloc must not be (POSIX.1-2017, 2.9.5.2): libsmalloc opens files in the first malloc. */
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags);
  struct stat info;
  *why = NULL;
  if (fd < 0) {
    const int error = errno;
    if (error == ENXIO && stat(path, &info) == 0) /* sockets, and devices that do not exist */
      *why = smalloc_not_a_file(info.st_mode);
    errno = error;
    return -1;
  }
  if (fstat(fd, &info) == 0 && !(*why = smalloc_not_a_file(info.st_mode))) {
    *bytes = (size_t)info.st_size;
    return fd;
  }
  const int error = errno;
  syscall(SYS_close, fd);
  errno = error;
  return -1;
}

#ifdef __cplusplus
}
#endif

#endif
