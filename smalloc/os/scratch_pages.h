// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// scratch_pages.h maps memory for short work and unmaps it at the end of the scope. libsmalloc's
// start-up thus leaves nothing resident. It keeps errno.
#ifndef SMALLOC_OS_SCRATCH_PAGES_H
#define SMALLOC_OS_SCRATCH_PAGES_H

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

namespace smalloc {

class ScratchPages {
public:
  explicit ScratchPages(size_t bytes) : bytes_(bytes) {
    int saved = errno;
    void *p = bytes ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                    : MAP_FAILED;
    data_ = p == MAP_FAILED ? nullptr : p;
    errno = saved;
  }
  ~ScratchPages() {
    int saved = errno;
    if (data_)
      munmap(data_, bytes_);
    errno = saved;
  }
  ScratchPages(const ScratchPages &) = delete;
  ScratchPages &operator=(const ScratchPages &) = delete;
  /// Returns zeroed memory; nullptr if `bytes` was 0 or the kernel refused.
  void *data() const { return data_; }

private:
  void *data_;
  size_t bytes_;
};

} // namespace smalloc
#endif
