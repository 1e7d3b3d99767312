// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// collector.h decides what the interposed functions tell the recording: who allocated, what, when.
// Inside the traced process: no malloc, no C++ runtime; errno is left alone.
#ifndef RUNTIME_COLLECTOR_COLLECTOR_H
#define RUNTIME_COLLECTOR_COLLECTOR_H

#include "runtime/trace/format.h"
#include "runtime/trace/sampled_event.h"

struct smalloc_cell;
struct smalloc_recorded;

namespace smalloc::trace {

/// Is a trace being written? The first test of every interposed function.
bool recording();
/// Starts one in `directory` (smalloc.NAME.PID.trace) unless SMALLOC_CONF has named a file or directives, or said trace:off.
void record_into(const char *directory);
/// Regions of 2 MiB whose hash (region_hash) is below this are recorded: 2^32 for every one, 0 while nothing is.
uint64_t region_threshold();
/// Is called when it has fallen (samples:N), by the thread that noticed.
void when_lowered(void (*call)());
/// Do programs tell accesses to regions that are not kept? They are left out then.
void all_recorded(bool yes);

/// Is told every access and how many lines it stands for, besides the recording and without one; any thread. From the time
/// before images open their gates, so that none is missed; nullptr: nobody any more.
using AccessListener = void (*)(uint64_t address, uint32_t accesses);
void listen(AccessListener tell);

/// The site of the allocation that this thread makes next, told by operator new and by the plugin's
/// entries, which end in malloc: the caller of malloc would say nothing.
void announce_caller(const void *return_address);
void announce_site(const smalloc_cell *cell);
/// The allocation that was announced is none: it failed, or frees.
void forget_announced();

/// caller: return address of the interposed function, used when nothing was announced.
void note_allocate(const void *p, size_t bytes, const void *caller);
void note_free(const void *p);
void note_reallocate(const void *p, size_t bytes, const void *old, const void *caller);
/// An address, | kWrites, that the program has not put into the thread's smalloc_recorded (smalloc/access.h) itself.
void note_access(uint64_t address);
/// Behind it there is room in this thread's smalloc_recorded.
void make_room();
/// This thread's.
const smalloc_recorded &told();
/// A loop that is about to walk through these (WalkPages): not looked at if none comes to a recorded region.
void note_walk(uint64_t iterations, const WalkReference *references, size_t count);
void note_phase(const char *name);
/// Writes what all threads have, and stops.
void finish();

// --- For who samples the process from outside of its threads (runtime/sampling). ---
class ThreadChunk;
/// What SMALLOC_CONF=event: asks for; nullptr: nothing, the program tells its accesses.
const SampledEvent *event_to_sample();
/// Another thread of the trace, written by the caller alone, flushed with all others. nullptr: no memory.
ThreadChunk *new_chunk();
/// In the trace's time.
uint64_t since_start(uint64_t monotonic_ns);
/// While it is there, what this thread allocates is not recorded.
class LeaveOut {
public:
  LeaveOut();
  ~LeaveOut();
  LeaveOut(const LeaveOut &) = delete;
  LeaveOut &operator=(const LeaveOut &) = delete;

private:
  bool before_;
};
void leave_out_this_thread();
/// Is called before the recording ends, and in each child of fork when its own has begun.
void when_finishing(void (*call)());
void when_forked(void (*call)());

} // namespace smalloc::trace
#endif
