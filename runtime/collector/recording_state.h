// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recording_state.h declares the state that a recorded process has once: the trace file, the sample
// of regions, the clock and the sites. recording.cpp defines them.
#ifndef RUNTIME_COLLECTOR_RECORDING_STATE_H
#define RUNTIME_COLLECTOR_RECORDING_STATE_H

#include "runtime/collector/recorded_sites.h"
#include "runtime/trace/event_clock.h"
#include "runtime/trace/region_sample.h"
#include "runtime/trace/writer.h"
#include "smalloc/base/units.h"

namespace smalloc::trace {

extern SMALLOC_NEAR Output g_output;
extern SMALLOC_NEAR RegionSample g_sample;
extern SMALLOC_NEAR EventClock g_clock;
extern SMALLOC_NEAR RecordedSites g_sites;
/// Trace time (ns) at which the process's page faults are recorded next.
extern SMALLOC_NEAR std::atomic<uint64_t> g_next_faults_ns;

} // namespace smalloc::trace
#endif
