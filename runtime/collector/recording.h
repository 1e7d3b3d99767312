// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recording.h decides what a process has one of while it is recorded, whatever its threads do: the file, the sample, the clock,
// and who else wants to hear of its beginning and end.
#ifndef RUNTIME_COLLECTOR_RECORDING_H
#define RUNTIME_COLLECTOR_RECORDING_H

#include "runtime/collector/recording_state.h"

namespace smalloc::trace {

/// By the calling thread, which is inside (recorded_thread.h): what is mapped, and the last event.
void note_segments();
void note_end();
/// What the thread has told so far is in the file. Returns when that was, 0 if nothing is recorded.
uint64_t note_fork();

} // namespace smalloc::trace
#endif
