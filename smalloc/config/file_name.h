// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// file_name.h expands the file names of SMALLOC_CONF: %p is the process number, %h the host, %r the
// rank of an MPI program, %% a percent sign. Any other % stands for itself.
#ifndef SMALLOC_CONFIG_FILE_NAME_H
#define SMALLOC_CONFIG_FILE_NAME_H

#include "smalloc/base/text.h"

namespace smalloc {

using FileName = TextBuffer<512>;

/// Appends the expanded `pattern` to `name`, cut to 511 bytes, and a zero byte. Allocates nothing.
void expand_file_name(const char *pattern, FileName &name);

} // namespace smalloc
#endif
