// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// quiet_file.h decides that a file of ours which may not grow ends no program: a limit of file sizes (RLIMIT_FSIZE), to which what
// we write may come first, is an error here and no SIGXFSZ. Allocates nothing, takes no lock; four system calls more than what it
// stands for.
#ifndef SMALLOC_FILES_QUIET_FILE_H
#define SMALLOC_FILES_QUIET_FILE_H

#include <stddef.h>
#include <sys/types.h>

namespace smalloc {

/// As the calls without the word, again after a signal (EINTR).
ssize_t write_quietly(int fd, const void *data, size_t bytes);
ssize_t write_quietly_at(int fd, const void *data, size_t bytes, off_t offset);
int truncate_quietly(int fd, off_t bytes);

/// All of it, in as many pieces as the kernel takes. Returns 0 or an errno value, and keeps errno.
int write_all_quietly(int fd, const void *data, size_t bytes);

} // namespace smalloc
#endif
