/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * input_file.h decides what counts as a file that a user may name as input, for compiler, command and libsmalloc alike: regular
 * files only. A pipe, a terminal or a device may never give a byte, or never an end, and a build that waits for it says nothing.
 * So opening does not wait, either, and each refusal says what stands there instead.
 */
#ifndef SMALLOC_INPUT_FILE_H
#define SMALLOC_INPUT_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why what has this st_mode is no input; null where it is a regular file. Static text. */
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

/* A descriptor to read path by, at its first byte, and in *bytes how long it is now; -1 otherwise, and then in *why what stands
 * there, or null where errno says it. Allocates nothing. */
static inline int smalloc_open_input(const char *path, size_t *bytes, const char **why) {
  /* O_NONBLOCK: opening a pipe that nobody writes must not wait. A terminal must not become the one of a daemon. */
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat info;
  *why = NULL;
  if (fd < 0) {
    const int error = errno;
    if (error == ENXIO && stat(path, &info) == 0) /* sockets, and devices that are not there */
      *why = smalloc_not_a_file(info.st_mode);
    errno = error;
    return -1;
  }
  if (fstat(fd, &info) == 0 && !(*why = smalloc_not_a_file(info.st_mode))) {
    *bytes = (size_t)info.st_size;
    return fd;
  }
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

#ifdef __cplusplus
}
#endif

#endif
