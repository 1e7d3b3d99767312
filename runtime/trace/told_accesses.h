// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// told_accesses.h decides which of the accesses that a program has told become part of the trace: those to regions of the sample,
// and none to a page that the thread has just told.
#ifndef RUNTIME_TRACE_TOLD_ACCESSES_H
#define RUNTIME_TRACE_TOLD_ACCESSES_H

#include "runtime/trace/recorded_thread.h"
#include "smalloc/base/units.h"

namespace smalloc::trace {

inline constexpr size_t kToldKept = kMostAccesses - SMALLOC_TOLD_BEHIND_END;
inline constexpr size_t kToldRoom = kToldKept + SMALLOC_TOLD_BEHIND_END;
// So many others may have been told since a page was, and it is not told again: what a reuse distance may be off by. A loop that
// jumps about in a table of 128 KiB tells next to nothing. At lower rates each page that is told stands for several.
inline constexpr uint64_t kToldWindow = 48;

/// Takes all the memory that there is; what is there counts as written.
void empty_told(ThreadState &state);
/// Nothing has been told: every page is new.
void open_told(ThreadState &state);
/// How many accesses are in the thread's memory, without those of pages that have been told lately.
size_t look_at_told(ThreadState &state);
/// What the thread writes from here on is sampled below the threshold of now.
void note_threshold(ThreadState &state, bool lowered);
void write_what_is_told(ThreadState &state, uint64_t now);
inline void write_told(ThreadState &state, uint64_t now) {
  if (state.told.next != state.told_start)
    write_what_is_told(state, now);
}

} // namespace smalloc::trace
#endif
