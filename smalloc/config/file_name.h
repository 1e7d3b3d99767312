// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// file_name.h decides what stands for what in a file name of SMALLOC_CONF: %p process, %h host, %r rank of an MPI program, %% a
// percent sign. Any other % stands for itself.
#ifndef SMALLOC_CONFIG_FILE_NAME_H
#define SMALLOC_CONFIG_FILE_NAME_H

#include "smalloc/base/text.h"

namespace smalloc {

using FileName = TextBuffer<512>;

/// Appends the name, cut to 511 bytes, and a zero byte. Allocates nothing.
void expand_file_name(const char *pattern, FileName &name);

} // namespace smalloc
#endif
