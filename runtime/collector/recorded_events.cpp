// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_events.cpp turns what a thread does into events of the trace. Before each event it
// writes the accesses that the thread has buffered, so that the order is kept. An allocation
// belongs to the announced site, else to the return address of the interposed function.
#include "runtime/collector/collector.h"
#include "runtime/collector/image_names.h"
#include "runtime/collector/recorded_accesses.h"
#include "runtime/collector/recorded_thread.h"
#include "runtime/collector/recording.h"
#include "smalloc/include/smalloc/site.h"

#include <string.h>
#include <sys/resource.h>

namespace smalloc::trace {
namespace {

constexpr uint64_t kSecond = 1000000000;
constexpr size_t kLeastRecorded = kRecordedKept / 2; // fewer buffered accesses wait for more
constexpr uint32_t kWalksAReading = 64; // between readings of the clock; one takes as long as to
                                        // note a walk
constexpr uint64_t kLongWalk =
    1024; // accesses: a reading costs nothing beside them, and orders the walks of threads

uint64_t g_nowhere[kRecordedRoom]; // for threads whose accesses cannot be kept; never read

RecordedSite take_site(ThreadState &state, const void *caller) {
  if (const smalloc_cell *cell = state.announced_cell) {
    state.announced_cell = nullptr;
    state.announced_caller = nullptr;
    return g_sites.of_cell(cell, *state.chunk);
  }
  if (state.announced_caller) {
    caller = state.announced_caller;
    state.announced_caller = nullptr;
  }
  return g_sites.of_caller(caller, *state.chunk);
}

void note_faults(ThreadState &state, uint64_t now) {
  rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    state.chunk->faults(now, static_cast<uint64_t>(usage.ru_minflt),
                        static_cast<uint64_t>(usage.ru_majflt));
}

// Prepares the thread for an event: gets it a chunk, reads the clock into `now` and writes the
// accesses that came before. False: there is no memory.
bool ready(ThreadState &state, uint64_t &now) {
  if (!state.chunk && !enter_thread(state))
    return false;
  now = g_clock.now(state.time);
  state.walks = kWalksAReading;
  write_recorded(state, now);
  uint64_t due = g_next_faults_ns.load(std::memory_order_relaxed);
  if (now >= due && g_next_faults_ns.compare_exchange_strong(due, now + kSecond))
    note_faults(state, now);
  return true;
}

} // namespace

void note_segments() {
  ThreadState &state = t_state;
  uint64_t now;
  if (ready(state, now))
    for_each_segment(
        [](uint64_t start, uint64_t bytes, const char *path, void *data) {
          static_cast<ThreadChunk *>(data)->segment(start, bytes, path, strlen(path));
        },
        state.chunk);
}

// Writes this thread's events before a fork: the child's trace goes on from there. A parent that
// ends at once by _exit, as daemons do, loses nothing then.
uint64_t note_fork() {
  uint64_t now;
  if (!g_output.recording() || !ready(t_state, now))
    return 0;
  t_state.chunk->flush();
  return now;
}

// Writes the end as the last record: a trace that has it is complete.
void note_end() {
  uint64_t now;
  const bool has_chunk = ready(t_state, now);
  if (has_chunk)
    note_faults(t_state, now);
  if (!g_output.begin_end())
    return;
  const uint64_t lost = close_others(t_state.chunk);
  if (!has_chunk)
    return;
  t_state.chunk->end(now, lost);
  t_state.chunk->flush();
}

void announce_caller(const void *return_address) {
  if (!t_state.announced_cell && !t_state.inside)
    t_state.announced_caller = return_address;
}
void announce_site(const smalloc_cell *cell) { t_state.announced_cell = cell; }
void forget_announced() {
  t_state.announced_cell = nullptr;
  t_state.announced_caller = nullptr;
}

bool has_announced() { return t_state.announced_cell || t_state.announced_caller; }

void note_allocate(const void *p, size_t bytes, const void *caller) {
  const Inside inside;
  uint64_t now;
  if (!inside || !ready(t_state, now))
    return;
  const RecordedSite site = take_site(t_state, caller);
  t_state.chunk->allocate(now, site.id, bytes, reinterpret_cast<uintptr_t>(p), site.context);
}

void note_free(const void *p) {
  const Inside inside;
  uint64_t now;
  if (inside && ready(t_state, now))
    t_state.chunk->free(now, reinterpret_cast<uintptr_t>(p));
}

void note_reallocate(const void *p, size_t bytes, const void *old, const void *caller) {
  const Inside inside;
  uint64_t now;
  if (!inside || !ready(t_state, now))
    return;
  const RecordedSite site = take_site(t_state, caller);
  t_state.chunk->reallocate(now, {site.id, bytes, reinterpret_cast<uintptr_t>(p), site.context},
                            reinterpret_cast<uintptr_t>(old));
}

const smalloc_recorded &told() { return t_state.told; }

// Empties the thread's buffer, or gets it the first one. Only this function tests whether anything
// is being recorded. Runs of one page are merged when they are written.
void make_room() {
  ThreadState &state = t_state;
  const Inside inside;
  uint64_t now;
  if (inside && g_output.recording() && (!state.chunk || look_at_recorded(state) > kLeastRecorded))
    ready(state, now);
  if (state.told.next >= state.told.end || !g_output.recording()) {
    state.told.next = g_nowhere;
    state.told.end = g_nowhere + kRecordedKept;
  }
}

void note_access(uint64_t address) {
  ThreadState &state = t_state;
  if (state.told.next >= state.told.end)
    make_room();
  *state.told.next++ = address;
}

void note_walk(uint64_t iterations, const WalkReference *references, size_t count) {
  const auto sampled = [iterations](const WalkReference &r) {
    constexpr uint64_t kMostRegions = 64;
    const uint64_t last = r.address + static_cast<uint64_t>(r.stride) * (iterations - 1);
    uint64_t low = (r.stride < 0 ? last : r.address) >> 21;
    const uint64_t high = (r.stride < 0 ? r.address : last) >> 21;
    if (high - low >= kMostRegions)
      return true; // very probable: the reader tests each
    for (; low <= high; low++)
      if (region_hash(low << 21) < g_sample.threshold())
        return true;
    return false;
  };
  if (g_sample.threshold() == 0)
    return;
  bool any = g_sample.threshold() == kEveryRegion;
  for (size_t i = 0; i < count && !any; i++)
    any = sampled(references[i]);
  if (!any || iterations == 0)
    return;
  ThreadState &state = t_state;
  const Inside inside;
  if (!inside)
    return;
  uint64_t now = state.time.last_ns;
  if (state.chunk && state.walks > 0 && iterations < kLongWalk && iterations * count < kLongWalk) {
    state.walks--;
    write_recorded(state, now);
  } else if (!ready(state, now)) {
    return;
  }
  if (g_sample.bounded())
    note_threshold(state, g_sample.meet_walk(iterations, references, count));
  state.chunk->walk(now, iterations, references, count);
  double pages = 0;
  for (size_t i = 0; i < count; i++)
    pages += 1 + walk_pages(references[i].stride) * static_cast<double>(iterations);
  state.lately.use(pages < kRecordedWindow ? static_cast<uint64_t>(pages) : kRecordedWindow);
}

void note_phase(const char *name) {
  const Inside inside;
  uint64_t now;
  if (inside && ready(t_state, now))
    t_state.chunk->phase(now, name, strlen(name));
}

} // namespace smalloc::trace
