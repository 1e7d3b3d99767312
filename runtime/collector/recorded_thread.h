// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_thread.h decides what each thread of a recorded process has of its own: a chunk, a clock, memory for accesses that the
// program tells, and a mark that we ourselves are at work, so that what we call may allocate.
#ifndef RUNTIME_COLLECTOR_RECORDED_THREAD_H
#define RUNTIME_COLLECTOR_RECORDED_THREAD_H

#include "runtime/collector/thread_state.h"

namespace smalloc::trace {

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
