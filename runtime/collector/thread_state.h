// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// thread_state.h holds the state of each thread of a recorded process: a chunk of the trace, a
// clock and a buffer for accesses that the program stores. A flag says that the collector itself
// runs, so that functions which it calls may allocate.
#ifndef RUNTIME_COLLECTOR_THREAD_STATE_H
#define RUNTIME_COLLECTOR_THREAD_STATE_H

#include "runtime/trace/event_clock.h"
#include "runtime/trace/recent_page_filter.h"
#include "runtime/trace/region_sample.h"
#include "runtime/trace/writer.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/include/smalloc/access.h"

struct smalloc_cell;

namespace smalloc::trace {

struct ThreadState {
  smalloc_recorded told; // buffer that the program itself fills; without a chunk it has no room
  ThreadChunk *chunk;
  uint64_t *recorded_start; // kRecordedRoom entries, behind the chunk's own memory
  size_t looked_at;         // filtered entries; the others may be of pages recorded lately
  const void *announced_caller;
  const smalloc_cell *announced_cell;
  ThreadTime time;
  uint64_t forked_ns; // trace time of the last fork
  uint32_t walks;     // left until the clock is read
  bool inside;        // the collector runs on this thread, or the thread's recording is over
  LatelyMet met;
  RecentPageFilter lately;
};
extern __thread ThreadState t_state
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/// Sets t_state.inside while it lives, so that functions which the collector calls may allocate.
/// Keeps errno.
class Inside {
public:
  Inside() : entered_(!t_state.inside) { t_state.inside = true; }
  ~Inside() {
    if (entered_)
      t_state.inside = false;
  }
  Inside(const Inside &) = delete;
  Inside &operator=(const Inside &) = delete;
  explicit operator bool() const { return entered_; }

private:
  KeepErrno keep_;
  bool entered_;
};

} // namespace smalloc::trace
#endif
