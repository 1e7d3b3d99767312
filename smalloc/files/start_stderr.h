// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// start_stderr.h decides where our warnings may go: to the file that was standard error when the
// process started. A program that closes descriptor 2 gets its number again for a file of its own, in
// which nothing of ours may appear. Allocates nothing, takes no lock.
#ifndef SMALLOC_FILES_START_STDERR_H
#define SMALLOC_FILES_START_STDERR_H

#include <stddef.h>

namespace smalloc {

/// For constructors: notes what descriptor 2 is. Without this the first write does.
void remember_start_stderr();

/// Writes all of it to descriptor 2 if that still is the file of the process' start, by device and
/// inode; else nothing. Nobody hears of errors. Keeps errno.
void write_to_start_stderr(const char *text, size_t bytes);

} // namespace smalloc
#endif
