// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/core/joining_heap.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/core/small_heap.h"

#include <malloc.h>
#include <unistd.h>

extern "C" int mallopt(int parameter, int value) noexcept __attribute__((weak));

namespace smalloc {

void JoiningHeap::look(const OsHooks &os) {
  t_small.joined_bytes = 0;
  if (!lock_.try_lock())
    return;
  KeepErrno keep;
  const auto end = reinterpret_cast<uintptr_t>(sbrk(0));
  if (!first_ || end < first_)
    first_ = end;
  if (advised_ == 0 && end - first_ >= kLeastBytes) {
    // Setting one of glibc's parameters ends its adaptation of the others: they get what it arrives at.
    if (mallopt) {
      mallopt(M_TOP_PAD, kStepBytes);
      mallopt(M_TRIM_THRESHOLD, 2 * kStepBytes);
      mallopt(M_MMAP_THRESHOLD, 32 << 20);
    }
    advised_ = align_up(end, kSuperpageBytes);
  } else if (advised_ && end < advised_) {
    advised_ = align_up(end, kSuperpageBytes); // it was trimmed: what comes again has no advice
  } else if (advised_ && end - advised_ >= kSuperpageBytes) {
    const uintptr_t to = align_down(end, kSuperpageBytes);
    os.advise(reinterpret_cast<void *>(advised_), to - advised_, Advice::kSuperpages);
    advised_ = to;
  }
  lock_.unlock();
}

} // namespace smalloc
