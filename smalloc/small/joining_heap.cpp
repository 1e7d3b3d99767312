// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/small/joining_heap.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/pages/data_limit.h"

#include <malloc.h>
#include <unistd.h>

extern "C" int mallopt(int parameter, int value) noexcept __attribute__((weak));

namespace smalloc {

/// Sets glibc's top pad to one step. Setting one of glibc's parameters ends its adaptation of the
/// others. So the other two get the values that the adaptation would reach.
void JoiningHeap::set_step(size_t bytes) {
  step_ = bytes;
  if (!mallopt)
    return;
  mallopt(M_TOP_PAD, static_cast<int>(bytes));
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(2 * bytes));
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
}

/// Moves the break if the program is about to fill the last whole unit below it. Returns the break.
/// The program fills this unit upwards and has reached `p`. A request that does not fit makes
/// malloc move the break now; it writes only the new end of the free memory. While the end of its
/// heap has room, malloc does not join its fast bins. So a request of kJoinsBytes makes it join
/// them, at each look that finds the program higher up.
uintptr_t JoiningHeap::move_break(uintptr_t end, const void *p, size_t bytes, const Malloc &next) {
  const auto at = reinterpret_cast<uintptr_t>(p);
  const uintptr_t last = align_down(end, kSuperpageBytes);
  const bool rises = at > seen_ && at < end,
             fills = rises && at < last && at + kSuperpageBytes >= last;
  seen_ = at;
  rises_ = fills ? rises_ + 1 : 0;
  if (!rises)
    return end;
  // A large object may be the last one seen in the unit.
  const bool moves = rises_ == kMovesAt || (fills && bytes >= kLookBytes && at + 2 * bytes >= last);
  if (void *q = next.malloc(moves ? end - at : kJoinsBytes))
    next.free(q);
  return reinterpret_cast<uintptr_t>(sbrk(0));
}

bool JoiningHeap::look(const OsHooks &os, const void *p, size_t bytes, size_t requested,
                       const Malloc &next) {
  if (!lock_.try_lock())
    return true;
  KeepErrno keep;
  auto end = reinterpret_cast<uintptr_t>(sbrk(0));
  if (advised_)
    end = move_break(end, p, bytes, next);
  if (!first_ || end < first_)
    first_ = end;
  requested_ += requested;
  const auto at = reinterpret_cast<uintptr_t>(p);
  constexpr size_t kLeastMappedBytes = size_t{128} << 10; // glibc's smallest M_MMAP_THRESHOLD
  const bool outside = p && bytes < kLeastMappedBytes && at >= end;
  if (advised_ == 0 && requested_ >= kLeastBytes) {
    set_step(kStepBytes);
    advised_ = align_up(end, kSuperpageBytes);
  } else if (advised_ && end < advised_) {
    // Malloc trimmed the heap: memory mapped again has no advice.
    advised_ = align_up(end, kSuperpageBytes);
  } else if (advised_ && end - advised_ >= kSuperpageBytes) {
    const uintptr_t to = align_down(end, kSuperpageBytes);
    auto *first = reinterpret_cast<char *>(advised_);
    os.advise(first, to - advised_, Advice::kSuperpages);
    // If move_break() was in time, the unit of the old break holds only the header that malloc has
    // written.
    constexpr size_t kFewPages = 16;
    const size_t pages = os.resident_pages(first, kSuperpageBytes);
    if (pages != 0 && pages < kFewPages) // an untouched unit gets its superpage at the first touch
      os.collapse(first, kSuperpageBytes);
    advised_ = to;
    // RLIMIT_DATA counts the memory above the heap, touched or not, so keep the steps small under
    // it.
    if (step_ < kMostStepBytes && data_limit() == UINT64_MAX &&
        end - first_ >= 2 * step_ * kStepsOfHeap)
      set_step(2 * step_);
  }
  lock_.unlock();
  return !outside;
}

} // namespace smalloc
