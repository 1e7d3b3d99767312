// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// system_file.h reads a small file of the kernel, such as /proc/self/statm, for code that runs in
// another program's process: without malloc, without cancellation, with errno kept.
#ifndef SMALLOC_FILES_SYSTEM_FILE_H
#define SMALLOC_FILES_SYSTEM_FILE_H

#include "smalloc/base/keep_errno.h"
#include "smalloc/files/uncancelled.h"

namespace smalloc {

/// Reads at most capacity - 1 bytes of a file and adds a zero byte. Returns the number of bytes
/// read; -1 if the file cannot be opened.
inline long read_system_file(const char *path, char *buffer, size_t capacity) {
  const KeepErrno keep;
  const int fd = uncancelled::open(path, O_RDONLY | O_CLOEXEC);
  size_t done = 0;
  for (ssize_t n; fd >= 0 && (n = uncancelled::read(fd, buffer + done, capacity - 1 - done)) > 0;)
    done += static_cast<size_t>(n);
  if (fd >= 0)
    uncancelled::close(fd);
  buffer[done] = 0;
  return fd < 0 ? -1 : static_cast<long>(done);
}

} // namespace smalloc
#endif
