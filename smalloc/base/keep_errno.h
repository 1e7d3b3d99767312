// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// keep_errno.h restores the program's errno after libsmalloc's work inside a call of the program.
#ifndef SMALLOC_BASE_KEEP_ERRNO_H
#define SMALLOC_BASE_KEEP_ERRNO_H

#include <errno.h>

namespace smalloc {

/// Saves errno at construction and restores it at destruction.
class KeepErrno {
public:
  KeepErrno() : saved_(errno) {}
  ~KeepErrno() { errno = saved_; }

private:
  int saved_;
};

} // namespace smalloc
#endif
