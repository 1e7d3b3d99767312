// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_accesses.cpp filters a thread's buffered accesses in place: first by the sample of
// regions, then by the window of pages that the thread has recorded lately.
#include "runtime/collector/recorded_accesses.h"
#include "runtime/collector/collector.h"
#include "runtime/collector/recording_state.h"

namespace smalloc::trace {
namespace {

constexpr uint64_t kLeastRecordedWindow = 8;

void (*g_lowered)(); // called when the sample's threshold falls
// True if programs pass all accesses, because they cannot look up which regions are kept.
std::atomic<bool> g_all_recorded{false};

uint64_t recorded_window() {
  const uint64_t window = (kRecordedWindow * g_sample.threshold()) >> 32;
  return window > kLeastRecordedWindow ? window : kLeastRecordedWindow;
}

size_t drop_what_is_not_kept(uint64_t *accesses, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (region_hash(accesses[i] & ~kWrites) < g_sample.threshold())
      accesses[kept++] = accesses[i];
  return kept;
}

} // namespace

void empty_recorded(ThreadState &state) {
  state.told.next = state.recorded_start;
  state.told.end = state.recorded_start + kRecordedKept;
  state.looked_at = 0;
}

void open_recorded(ThreadState &state) {
  empty_recorded(state);
  state.lately.open(recorded_window());
}

size_t look_at_recorded(ThreadState &state) {
  const auto bytes = reinterpret_cast<uintptr_t>(state.told.next) -
                     reinterpret_cast<uintptr_t>(state.recorded_start);
  size_t count = bytes / sizeof(uint64_t);
  if (!state.recorded_start || count > kRecordedRoom) {
    empty_recorded(state); // they went to the buffer that is never read
    return 0;
  }
  // `next` may be below the entries already filtered: a signal handler advanced it, and the loop
  // that it interrupted then stored its older value.
  size_t looked_at = count < state.looked_at ? count : state.looked_at;
  if (g_all_recorded.load(std::memory_order_relaxed))
    count = looked_at + drop_what_is_not_kept(state.recorded_start + looked_at, count - looked_at);
  looked_at += state.lately.keep(state.recorded_start + looked_at, count - looked_at);
  state.looked_at = looked_at;
  state.told.next = state.recorded_start + state.looked_at;
  return state.looked_at;
}

// Updates the gates if the threshold fell, so that the program passes fewer accesses.
void note_threshold(ThreadState &state, bool lowered) {
  state.chunk->sampled_below(g_sample.threshold());
  state.lately.later(recorded_window());
  if (lowered && g_lowered)
    g_lowered();
}

void write_all_recorded(ThreadState &state, uint64_t now) {
  size_t count = look_at_recorded(state);
  if (count && g_sample.bounded()) {
    bool lowered = false;
    count = g_sample.keep(state.recorded_start, count, state.met, lowered);
    note_threshold(state, lowered);
  }
  if (count)
    state.chunk->told(now, state.recorded_start, count);
  empty_recorded(state);
}

void when_lowered(void (*call)()) { g_lowered = call; }

void all_recorded(bool yes) { g_all_recorded.store(yes, std::memory_order_relaxed); }

} // namespace smalloc::trace
