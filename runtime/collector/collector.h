// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// collector.h declares how the interposed functions record events: allocations with their sites,
// accesses, phases. Each call appends to the calling thread's chunk of the trace.
// Inside the traced process: no malloc, no C++ runtime; errno is left alone.
#ifndef RUNTIME_COLLECTOR_COLLECTOR_H
#define RUNTIME_COLLECTOR_COLLECTOR_H

#include "runtime/trace/format.h"
#include "runtime/trace/sampled_event.h"

struct smalloc_cell;
struct smalloc_recorded;

namespace smalloc::trace {

/// True if a trace is being written. Every interposed function tests it first.
bool recording();
/// Starts a trace in `directory` (smalloc.NAME.PID.trace). Does nothing if SMALLOC_CONF has named a
/// file or directives, or said trace:off.
void record_into(const char *directory);
/// Returns the threshold of the sample. Regions of 2 MiB whose hash (region_hash) is below it are
/// recorded: 2^32 for every one, 0 while nothing is.
uint64_t region_threshold();
/// Registers `call`. The thread that notices a fall of the threshold (samples:N) calls it.
void when_lowered(void (*call)());
/// Sets whether programs also pass accesses to regions that are not kept. If `yes`, the collector
/// drops them.
void all_recorded(bool yes);

/// Receives every access, from any thread, besides the recording and without one. `accesses`:
/// number of accesses that `address` stands for.
using AccessListener = void (*)(uint64_t address, uint32_t accesses);
/// Sets the listener of all accesses; nullptr removes it. Accesses are missed unless it is set
/// before images open their gates.
void listen(AccessListener tell);

/// Announces the call site of this thread's next allocation. operator new and the plugin's entries
/// announce theirs: they end in malloc, and malloc's caller would be the wrong site.
void announce_caller(const void *return_address);
void announce_site(const smalloc_cell *cell);
/// Discards the announcement: the announced call failed, or it frees.
void forget_announced();
/// True if this thread has announced an allocation that was not recorded yet.
bool has_announced();

/// Records an allocation. `caller`: return address of the interposed function; used if no site was
/// announced.
void note_allocate(const void *p, size_t bytes, const void *caller);
void note_free(const void *p);
void note_reallocate(const void *p, size_t bytes, const void *old, const void *caller);
/// Records an access that the program has not stored in the thread's smalloc_recorded
/// (smalloc/access.h) itself. `address`: | kWrites for a write.
void note_access(uint64_t address);
/// Makes room in this thread's smalloc_recorded.
void make_room();
/// Returns this thread's smalloc_recorded.
const smalloc_recorded &told();
/// Records a loop that is about to walk through `references` (WalkPages). Does nothing if none of
/// them comes to a recorded region.
void note_walk(uint64_t iterations, const WalkReference *references, size_t count);
void note_phase(const char *name);
/// Writes the events of all threads and ends the recording.
void finish();

// --- For the address sampler, which runs outside of the program's threads (runtime/sampling). ---
class ThreadChunk;
/// Returns the event that SMALLOC_CONF=event: names. nullptr: none, the program records its
/// accesses.
const SampledEvent *event_to_sample();
/// Adds a thread to the trace. Only the caller may write to the chunk; it is flushed with all
/// others. Returns nullptr if there is no memory.
ThreadChunk *new_chunk();
/// Returns a reading of CLOCK_MONOTONIC in the trace's time.
uint64_t since_start(uint64_t monotonic_ns);
/// Scope in which this thread's allocations are not recorded.
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
/// Registers `call`. when_finishing: runs before the recording ends. when_forked: runs in each
/// child of fork after the child's own recording has begun.
void when_finishing(void (*call)());
void when_forked(void (*call)());

} // namespace smalloc::trace
#endif
