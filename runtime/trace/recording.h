// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recording.h decides what a process has one of while it is recorded, whatever its threads do: the file, the sample, the clock,
// and who else wants to hear of its beginning and end.
#ifndef RUNTIME_TRACE_RECORDING_H
#define RUNTIME_TRACE_RECORDING_H

#include "runtime/trace/event_clock.h"
#include "runtime/trace/recorded_sites.h"
#include "runtime/trace/region_sample.h"
#include "runtime/trace/writer.h"
#include "smalloc/base/units.h"

namespace smalloc::trace {

extern SMALLOC_NEAR Output g_output;
extern SMALLOC_NEAR RegionSample g_sample;
extern SMALLOC_NEAR EventClock g_clock;
extern SMALLOC_NEAR RecordedSites g_sites;
/// When the process's page faults are to be noted again.
extern SMALLOC_NEAR std::atomic<uint64_t> g_next_faults_ns;

/// By the calling thread, which is inside (recorded_thread.h): what is mapped, and the last event.
void note_segments();
void note_end();
/// What the thread has told so far is in the file. Returns when that was, 0 if nothing is recorded.
uint64_t note_fork();

} // namespace smalloc::trace
#endif
