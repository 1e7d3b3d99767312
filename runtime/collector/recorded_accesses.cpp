// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_accesses.cpp decides how the sample and the window of pages that were told lately thin out what a thread has told.
#include "runtime/collector/recorded_accesses.h"
#include "runtime/collector/collector.h"
#include "runtime/collector/recording_state.h"

namespace smalloc::trace {
namespace {

constexpr uint64_t kLeastRecordedWindow = 8;

void (*g_lowered)(); // is told when the sample's threshold falls
// Programs that cannot ask what is kept tell everything.
std::atomic<bool> g_all_recorded{false};

uint64_t recorded_window() {
  const uint64_t window = (kRecordedWindow * g_sample.threshold()) >> 32;
  return window > kLeastRecordedWindow ? window : kLeastRecordedWindow;
}

size_t drop_what_is_not_kept(uint64_t *told, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (region_hash(told[i] & ~kWrites) < g_sample.threshold())
      told[kept++] = told[i];
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
    empty_recorded(state); // they went nowhere
    return 0;
  }
  // A signal handler's may have gone on where a loop that it has interrupted then went back to.
  size_t looked_at = count < state.looked_at ? count : state.looked_at;
  if (g_all_recorded.load(std::memory_order_relaxed))
    count = looked_at + drop_what_is_not_kept(state.recorded_start + looked_at, count - looked_at);
  looked_at += state.lately.keep(state.recorded_start + looked_at, count - looked_at);
  state.looked_at = looked_at;
  state.told.next = state.recorded_start + state.looked_at;
  return state.looked_at;
}

// The gates follow, so that less is told.
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
