// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// told_accesses.cpp decides how the sample and the window of pages that were told lately thin out what a thread has told.
#include "runtime/trace/told_accesses.h"
#include "runtime/trace/collector.h"
#include "runtime/trace/recording.h"

namespace smalloc::trace {
namespace {

constexpr uint64_t kLeastToldWindow = 8;

void (*g_lowered)(); // is told when the sample's threshold falls
// Programs that cannot ask what is kept tell everything.
std::atomic<bool> g_all_is_told{false};

uint64_t told_window() {
  const uint64_t window = (kToldWindow * g_sample.threshold()) >> 32;
  return window > kLeastToldWindow ? window : kLeastToldWindow;
}

size_t drop_what_is_not_kept(uint64_t *told, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (region_hash(told[i] & ~kWrites) < g_sample.threshold())
      told[kept++] = told[i];
  return kept;
}

} // namespace

void empty_told(ThreadState &state) {
  state.told.next = state.told_start;
  state.told.end = state.told_start + kToldKept;
  state.looked_at = 0;
}

void open_told(ThreadState &state) {
  empty_told(state);
  state.lately.open(told_window());
}

size_t look_at_told(ThreadState &state) {
  const auto bytes =
      reinterpret_cast<uintptr_t>(state.told.next) - reinterpret_cast<uintptr_t>(state.told_start);
  size_t count = bytes / sizeof(uint64_t);
  if (!state.told_start || count > kToldRoom) {
    empty_told(state); // they went nowhere
    return 0;
  }
  // A signal handler's may have gone on where a loop that it has interrupted then went back to.
  size_t looked_at = count < state.looked_at ? count : state.looked_at;
  if (g_all_is_told.load(std::memory_order_relaxed))
    count = looked_at + drop_what_is_not_kept(state.told_start + looked_at, count - looked_at);
  looked_at += state.lately.keep(state.told_start + looked_at, count - looked_at);
  state.looked_at = looked_at;
  state.told.next = state.told_start + state.looked_at;
  return state.looked_at;
}

// The gates follow, so that less is told.
void note_threshold(ThreadState &state, bool lowered) {
  state.chunk->sampled_below(g_sample.threshold());
  state.lately.later(told_window());
  if (lowered && g_lowered)
    g_lowered();
}

void write_what_is_told(ThreadState &state, uint64_t now) {
  size_t count = look_at_told(state);
  if (count && g_sample.bounded()) {
    bool lowered = false;
    count = g_sample.keep(state.told_start, count, state.met, lowered);
    note_threshold(state, lowered);
  }
  if (count)
    state.chunk->told(now, state.told_start, count);
  empty_told(state);
}

void when_lowered(void (*call)()) { g_lowered = call; }

void all_is_told(bool yes) { g_all_is_told.store(yes, std::memory_order_relaxed); }

} // namespace smalloc::trace
