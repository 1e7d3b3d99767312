// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_thread.h manages the chunks of a recorded process's threads: a thread's first event gets
// it one, its end frees it for the next thread, and the end of the recording closes all.
#ifndef RUNTIME_COLLECTOR_RECORDED_THREAD_H
#define RUNTIME_COLLECTOR_RECORDED_THREAD_H

#include "runtime/collector/thread_state.h"

namespace smalloc::trace {

/// Prepares the reuse of chunks of ended threads. Call it before any thread is recorded.
void begin_threads();
/// Gives the thread a chunk and memory for accesses, of an ended thread or new. False: no memory.
bool enter_thread(ThreadState &state);
/// Writes the events of all other threads; nothing is written after them. Returns how many events
/// the others have lost, including those lost meanwhile.
uint64_t close_others(const ThreadChunk *own);
/// Drops the events that are not yet written: in a child of fork they are the parent's.
void drop_chunks();

} // namespace smalloc::trace
#endif
