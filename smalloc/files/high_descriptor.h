// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// high_descriptor.h decides which numbers our descriptors have: high ones, since programs expect to get the low ones, and shells and
// daemons move and close those.
#ifndef SMALLOC_FILES_HIGH_DESCRIPTOR_H
#define SMALLOC_FILES_HIGH_DESCRIPTOR_H

#include <fcntl.h>
#include <sys/resource.h>

namespace smalloc {

/// The same file under another number, from 200 on, or in the last quarter where there are fewer; closed by exec. -1: there is none.
inline int duplicate_high(int fd) {
  constexpr int kLeast = 200;
  rlimit limit;
  int high = fcntl(fd, F_DUPFD_CLOEXEC, kLeast);
  if (high < 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0)
    high = fcntl(fd, F_DUPFD_CLOEXEC, static_cast<int>(limit.rlim_cur / 4 * 3));
  return high;
}

} // namespace smalloc
#endif
