// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// file_name.h expands the file names of SMALLOC_CONF: %p is the process number, %h the host, %r the
// rank of an MPI program, %% a percent sign. Any other % stands for itself.
#ifndef SMALLOC_BASE_FILE_NAME_H
#define SMALLOC_BASE_FILE_NAME_H

#include <stddef.h>

namespace smalloc {

/// Writes the expanded `pattern` to `name`, cut to capacity - 1 bytes, and a zero byte. False if it
/// was cut. `process`: the text for %p; nullptr: this process' number. Allocates nothing.
bool expand_file_name(const char *pattern, char *name, size_t capacity,
                      const char *process = nullptr);

} // namespace smalloc
#endif
