// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/small/joining_heap.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/pages/data_limit.h"

#include <malloc.h>
#include <unistd.h>

extern "C" int mallopt(int parameter, int value) noexcept __attribute__((weak));

namespace smalloc {

/// Setting one of glibc's parameters ends its adaptation of the others: they get what it arrives at.
void JoiningHeap::set_step(size_t bytes) {
  step_ = bytes;
  if (!mallopt)
    return;
  mallopt(M_TOP_PAD, static_cast<int>(bytes));
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(2 * bytes));
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
}

/// The program fills the last whole unit below the break upwards, and has come to `p`: an object that does not
/// fit makes malloc move the break now. Only the new end of the free memory is written by that. Where
/// nothing is missing at the end of its heap, malloc does not join its fast bins: so it does here, at each
/// look that finds the program higher up. Returns the break.
uintptr_t JoiningHeap::move_break(uintptr_t end, const void *p, size_t bytes, const Malloc &next) {
  const auto at = reinterpret_cast<uintptr_t>(p);
  const uintptr_t last = align_down(end, kSuperpageBytes);
  const bool rises = at > seen_ && at < end,
             fills = rises && at < last && at + kSuperpageBytes >= last;
  seen_ = at;
  rises_ = fills ? rises_ + 1 : 0;
  if (!rises)
    return end;
  // A large object may be the last that is seen in the unit.
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
  constexpr size_t kLeastMappedBytes = size_t{128} << 10; // glibc's threshold at its least
  const bool outside = p && bytes < kLeastMappedBytes && at >= end;
  if (advised_ == 0 && requested_ >= kLeastBytes) {
    set_step(kStepBytes);
    advised_ = align_up(end, kSuperpageBytes);
  } else if (advised_ && end < advised_) {
    advised_ = align_up(end, kSuperpageBytes); // it was trimmed: what comes again has no advice
  } else if (advised_ && end - advised_ >= kSuperpageBytes) {
    const uintptr_t to = align_down(end, kSuperpageBytes);
    auto *first = reinterpret_cast<char *>(advised_);
    os.advise(first, to - advised_, Advice::kSuperpages);
    // The old break's unit holds the header that malloc has written there, if move_break() was in time.
    constexpr size_t kFewPages = 16;
    const size_t pages = os.resident_pages(first, kSuperpageBytes);
    if (pages != 0 &&
        pages < kFewPages) // an untouched unit gets its superpage from the first touch
      os.collapse(first, kSuperpageBytes);
    advised_ = to;
    // A limit counts what lies ready above the heap, touched or not.
    if (step_ < kMostStepBytes && data_limit() == UINT64_MAX &&
        end - first_ >= 2 * step_ * kStepsOfHeap)
      set_step(2 * step_);
  }
  lock_.unlock();
  return !outside;
}

} // namespace smalloc
