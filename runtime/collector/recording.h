// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recording.h declares the events that concern the whole process: its segments, a fork, its end.
// recording.cpp opens the trace and calls them.
#ifndef RUNTIME_COLLECTOR_RECORDING_H
#define RUNTIME_COLLECTOR_RECORDING_H

#include "runtime/collector/recording_state.h"

namespace smalloc::trace {

/// Records the writable segments of all images, and the last event. The calling thread holds an
/// Inside (thread_state.h).
void note_segments();
void note_end();
/// Writes the events of this thread so far to the file. Returns the time of it, 0 if nothing is
/// recorded.
uint64_t note_fork();

} // namespace smalloc::trace
#endif
