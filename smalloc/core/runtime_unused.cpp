// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime_unused.cpp limits how long freed memory is kept for the next objects: the free top of
// malloc's heap (small/heap_top.h) and the unused pages of an emptied heap of small objects
// (small/small_decay.cpp). The helper thread gives them back after a second. They are given back
// sooner if other memory would raise the peak of the process beside them.
#include "smalloc/base/keep_errno.h"
#include "smalloc/core/helper_thread.h"
#include "smalloc/core/promotion_thread.h"
#include "smalloc/core/runtime.h"
#include "smalloc/process/process_memory.h"

namespace smalloc {

/// True if unused memory may be kept for a while: the helper thread will give it back.
bool Runtime::may_keep() const { return options_.cache_bytes != 0 && promotion_thread_runs(); }

/// True if the free top of malloc's heap may be kept. A bare helper must not call malloc.
bool Runtime::may_keep_top() const { return may_keep() && !helper_is_bare(); }

bool Runtime::keeps_unused() const { return g_small.keeps_unused() || joining_heap_.keeps_top(); }

/// True if `bytes` more would raise the peak of the process' memory.
bool Runtime::raises_peak(uint64_t bytes) {
  KeepErrno keep;
  return resident_peak_.would_rise(process_memory(kLinux).anonymous_bytes, bytes);
}

/// Gives kept unused memory back if `bytes` more would raise the peak of the process' memory.
void Runtime::make_room(uint64_t bytes) {
  if (!keeps_unused() || !raises_peak(bytes))
    return;
  KeepErrno keep;
  if (g_small.keeps_unused())
    g_small.purge();
  joining_heap_.give_back_top(bytes, {g_next.malloc, g_next.free, g_next.top_bytes});
}

/// Acts as make_room(bytes), for a caller inside jemalloc, which cannot purge.
void Runtime::make_room_beside_heap(uint64_t bytes) {
  if (!joining_heap_.keeps_top() || !raises_peak(bytes))
    return;
  KeepErrno keep;
  joining_heap_.give_back_top(bytes, {g_next.malloc, g_next.free, g_next.top_bytes});
}

/// Gives back what was kept for long enough. For the helper thread, which ends soon after false.
bool Runtime::give_back_idle() {
  if (!keeps_unused())
    return false;
  resident_peak_.note(process_memory(kLinux).anonymous_bytes);
  const bool small = g_small.give_back_emptied(),
             top = !helper_is_bare() && joining_heap_.give_back_idle_top(kLinux);
  return small || top;
}

} // namespace smalloc
