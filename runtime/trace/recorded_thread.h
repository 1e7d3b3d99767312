// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_thread.h decides what each thread of a recorded process has of its own: a chunk, a clock, memory for accesses that the
// program tells, and a mark that we ourselves are at work, so that what we call may allocate.
#ifndef RUNTIME_TRACE_RECORDED_THREAD_H
#define RUNTIME_TRACE_RECORDED_THREAD_H

#include "runtime/trace/event_clock.h"
#include "runtime/trace/lately_told.h"
#include "runtime/trace/region_sample.h"
#include "runtime/trace/writer.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/include/smalloc/access.h"

struct smalloc_cell;

namespace smalloc::trace {

struct ThreadState {
  smalloc_told told; // the program itself writes there; no room: no chunk
  ThreadChunk *chunk;
  uint64_t *told_start; // kToldRoom of them, behind the chunk's own memory
  size_t looked_at;     // of them; the others may be of pages that have been told lately
  const void *announced_caller;
  const smalloc_cell *announced_cell;
  ThreadTime time;
  uint64_t forked_ns; // when it forked last
  uint32_t walks;     // until the time is looked at
  bool inside;        // we ourselves are at work, or the thread has said good-bye
  LatelyMet met;
  LatelyTold lately;
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

/// Before any thread is recorded: chunks of threads that end are kept for others from here on.
void begin_threads();
/// A chunk and memory for accesses, of a thread that has ended or new. False: no memory.
bool enter_thread(ThreadState &state);
/// What no other thread has written yet goes out, and nothing after it. Returns how many events the others have lost, also those of
/// this moment.
uint64_t close_others(const ThreadChunk *own);
/// Or away: in a child of fork it is the parent's.
void drop_chunks();

} // namespace smalloc::trace
#endif
