// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// high_descriptor.h moves libsmalloc's descriptors to high numbers. Programs expect to get the low
// numbers, and shells and daemons move and close them.
#ifndef SMALLOC_FILES_HIGH_DESCRIPTOR_H
#define SMALLOC_FILES_HIGH_DESCRIPTOR_H

#include <fcntl.h>
#include <sys/resource.h>

namespace smalloc {

/// Duplicates `fd` at a number from 200 on, with close-on-exec. Where the limit of descriptors is
/// lower, takes a number in the last quarter of the limit. Returns -1 if no number is free.
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
