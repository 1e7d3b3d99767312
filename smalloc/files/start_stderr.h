// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// start_stderr.h writes libsmalloc's warnings to the file that was standard error at the process'
// start. A program that closes descriptor 2 may get the number again for its own file, which must
// not receive warnings. It allocates nothing and takes no lock.
#ifndef SMALLOC_FILES_START_STDERR_H
#define SMALLOC_FILES_START_STDERR_H

#include <stddef.h>

namespace smalloc {

/// Records which file descriptor 2 refers to. Constructors call it; otherwise the first write does.
void remember_start_stderr();

/// Writes all of `text` to descriptor 2 if it still refers to the file of the process' start,
/// compared by device and inode. Otherwise writes nothing. Ignores errors and keeps errno.
void write_to_start_stderr(const char *text, size_t bytes);

} // namespace smalloc
#endif
