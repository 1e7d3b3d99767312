// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// thread_state.h holds what each thread of a recorded process has of its own: a chunk of the trace, a clock, memory for
// accesses that the program records, and a mark that the collector itself runs, so that what it calls may
// allocate.
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
  smalloc_recorded told; // the program itself writes there; no room: no chunk
  ThreadChunk *chunk;
  uint64_t *recorded_start; // kRecordedRoom of them, behind the chunk's own memory
  size_t looked_at;         // of them; the others may be of pages that have been told lately
  const void *announced_caller;
  const smalloc_cell *announced_cell;
  ThreadTime time;
  uint64_t forked_ns; // when it forked last
  uint32_t walks;     // until the time is looked at
  bool inside;        // we ourselves are at work, or the thread has said good-bye
  LatelyMet met;
  RecentPageFilter lately;
};
extern __thread ThreadState t_state
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/// Sets t_state.inside, so that what we call may allocate, and keeps errno.
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
