// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// quiet_file.h writes files without ending the program at a limit of file sizes (RLIMIT_FSIZE).
// libsmalloc's file may be the first to reach the limit; the call then fails and no SIGXFSZ
// arrives. It allocates nothing and takes no lock. It costs two system calls more than the plain
// call, or up to four where SIGXFSZ is blocked or the call fails.
#ifndef SMALLOC_FILES_QUIET_FILE_H
#define SMALLOC_FILES_QUIET_FILE_H

#include <stddef.h>
#include <sys/types.h>

namespace smalloc {

/// Write or truncate as write(2), pwrite(2) and ftruncate(2) do, and repeat the call after EINTR.
ssize_t write_quietly(int fd, const void *data, size_t bytes);
ssize_t write_quietly_at(int fd, const void *data, size_t bytes, off_t offset);
int truncate_quietly(int fd, off_t bytes);

/// Writes all of `data`, in as many calls as the kernel needs. Returns 0 or an errno value; keeps
/// errno.
int write_all_quietly(int fd, const void *data, size_t bytes);

} // namespace smalloc
#endif
