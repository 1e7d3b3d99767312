// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_accesses.h moves accesses from a thread's buffer, which the program fills, to its chunk.
// Two filters apply: an access is kept only if its region is sampled and the thread has not just
// recorded its page.
#ifndef RUNTIME_COLLECTOR_RECORDED_ACCESSES_H
#define RUNTIME_COLLECTOR_RECORDED_ACCESSES_H

#include "runtime/collector/thread_state.h"
#include "smalloc/base/units.h"

namespace smalloc::trace {

inline constexpr size_t kRecordedKept = kMostAccesses - SMALLOC_TOLD_BEHIND_END;
inline constexpr size_t kRecordedRoom = kRecordedKept + SMALLOC_TOLD_BEHIND_END;
// Number of other recorded pages within which a page is not recorded again; a reuse distance may be
// off by it. A loop that jumps about in a table of 128 KiB records next to nothing. At lower rates
// each recorded page stands for several, and the window shrinks.
inline constexpr uint64_t kRecordedWindow = 48;

/// Empties the buffer; its contents count as written.
void empty_recorded(ThreadState &state);
/// Empties the buffer and forgets its history: every page is new.
void open_recorded(ThreadState &state);
/// Filters the thread's buffer. Returns how many accesses remain, without those of pages recorded
/// lately.
size_t look_at_recorded(ThreadState &state);
/// Records the current threshold: it holds for what the thread writes from here on. `lowered`: it
/// has fallen.
void note_threshold(ThreadState &state, bool lowered);
void write_all_recorded(ThreadState &state, uint64_t now);
inline void write_recorded(ThreadState &state, uint64_t now) {
  if (state.told.next != state.recorded_start)
    write_all_recorded(state, now);
}

} // namespace smalloc::trace
#endif
