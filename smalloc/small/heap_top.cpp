// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/small/heap_top.h"
#include "smalloc/base/clock.h"
#include "smalloc/base/units.h"

#include <limits.h>
#include <malloc.h>
#include <unistd.h>

extern "C" int mallopt(int parameter, int value) noexcept __attribute__((weak));

namespace smalloc {

void HeapTop::set_trim_threshold(size_t bytes) {
  if (mallopt)
    mallopt(M_TRIM_THRESHOLD, static_cast<int>(min_of<size_t>(bytes, INT_MAX)));
}

void HeapTop::set_pad(size_t bytes) {
  pad_ = bytes;
  if (mallopt)
    mallopt(M_TOP_PAD, static_cast<int>(bytes));
  if (!keeps())
    set_trim_threshold(trim_threshold());
}

void HeapTop::note_use(uint64_t now, uintptr_t used_to, uintptr_t end, const NextMalloc &next) {
  used_ns_ = now;
  // highest_ and highest_before_ belong to two windows of kKeptNs / 2. Together they know the
  // highest object of the last half to whole kKeptNs.
  if (now >= window_ns_ + kKeptNs / 2) {
    const bool idle = now >= window_ns_ + kKeptNs;
    highest_before_ = idle ? 0 : highest_;
    highest_ = 0;
    window_ns_ = now;
  }
  highest_ = max_of(highest_, used_to);
  if (keeps()) {
    if (highest_before_ != 0 && end > max_of(highest_, highest_before_) + trim_threshold())
      give_back();
    return;
  }
  if (pad_ != 0)
    begin(next);
}

/// Stops glibc from trimming. False: it is not possible here.
bool HeapTop::begin(const NextMalloc &next) {
  void *trigger = mallopt ? next.malloc(kTriggerBytes) : nullptr;
  if (!trigger)
    return false;
  // Another arena, or a mapping of its own, does not trim the heap below the break.
  if (trigger >= sbrk(0)) {
    next.free(trigger);
    return false;
  }
  // The first call looks mallinfo2() up in the loaded images: now, since a later one may be inside
  // jemalloc.
  if (!free_)
    (void)next.top_bytes();
  free_ = next.free;
  set_trim_threshold(INT_MAX);
  trigger_.store(trigger, std::memory_order_relaxed);
  return true;
}

/// Returns the bytes of the free top; 0: not known.
size_t HeapTop::top_bytes(const NextMalloc &next) {
  if (!walks_)
    return 0;
  const uint64_t began = clock_ns<CLOCK_THREAD_CPUTIME_ID>();
  const size_t bytes = next.top_bytes();
  walks_ = clock_ns<CLOCK_THREAD_CPUTIME_ID>() - began <= kMostWalkNs;
  return bytes;
}

void HeapTop::give_back() {
  void *trigger = trigger_.exchange(nullptr);
  if (!trigger)
    return;
  set_trim_threshold(trim_threshold());
  free_(trigger);
  highest_before_ = 0;
}

void HeapTop::give_back(uint64_t bytes, const NextMalloc &next) {
  const size_t top = top_bytes(next), part = max_of<size_t>(bytes, top / 8);
  if (top <= part + trim_threshold())
    return give_back();
  void *trigger = trigger_.exchange(nullptr);
  if (!trigger)
    return;
  mallopt(M_TOP_PAD, static_cast<int>(min_of<size_t>(top - part, INT_MAX)));
  set_trim_threshold(pad_);
  free_(trigger);
  mallopt(M_TOP_PAD, static_cast<int>(pad_));
  if (!begin(next))
    set_trim_threshold(trim_threshold());
}

} // namespace smalloc
