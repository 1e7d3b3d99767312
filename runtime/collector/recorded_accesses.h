// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_accesses.h decides which of the accesses that a program has told become part of the trace: those to regions of the sample,
// and none to a page that the thread has just told.
#ifndef RUNTIME_COLLECTOR_RECORDED_ACCESSES_H
#define RUNTIME_COLLECTOR_RECORDED_ACCESSES_H

#include "runtime/collector/thread_state.h"
#include "smalloc/base/units.h"

namespace smalloc::trace {

inline constexpr size_t kRecordedKept = kMostAccesses - SMALLOC_TOLD_BEHIND_END;
inline constexpr size_t kRecordedRoom = kRecordedKept + SMALLOC_TOLD_BEHIND_END;
// So many others may have been told since a page was, and it is not told again: what a reuse distance may be off by. A loop that
// jumps about in a table of 128 KiB tells next to nothing. At lower rates each page that is told stands for several.
inline constexpr uint64_t kRecordedWindow = 48;

/// Takes all the memory that there is; what is there counts as written.
void empty_recorded(ThreadState &state);
/// Nothing has been told: every page is new.
void open_recorded(ThreadState &state);
/// How many accesses are in the thread's memory, without those of pages that have been told lately.
size_t look_at_recorded(ThreadState &state);
/// What the thread writes from here on is sampled below the threshold of now.
void note_threshold(ThreadState &state, bool lowered);
void write_all_recorded(ThreadState &state, uint64_t now);
inline void write_recorded(ThreadState &state, uint64_t now) {
  if (state.told.next != state.recorded_start)
    write_all_recorded(state, now);
}

} // namespace smalloc::trace
#endif
