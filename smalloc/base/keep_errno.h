// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// keep_errno.h decides that what we do inside a program's call leaves its errno alone.
#ifndef SMALLOC_BASE_KEEP_ERRNO_H
#define SMALLOC_BASE_KEEP_ERRNO_H

#include <errno.h>

namespace smalloc {

class KeepErrno {
public:
  KeepErrno() : saved_(errno) {}
  ~KeepErrno() { errno = saved_; }

private:
  int saved_;
};

} // namespace smalloc
#endif
