// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mapped_sites.cpp keeps a table of the mappings that sites have made, each with the part that is
// still mapped. A change of that part is recorded as a reallocation.
#include "runtime/collector/mapped_sites.h"

#include "runtime/collector/collector.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/base/units.h"

#include <atomic>
#include <sched.h>
#include <stdint.h>
#include <unistd.h>

namespace smalloc::trace {
namespace {

struct Mapping {
  uintptr_t start, end; ///< part that is still mapped; 0: free slot
  const smalloc_cell *cell;
};
Mapping g_mappings[kMostMappings];
unsigned g_used; ///< slots in use; all behind are free
std::atomic<int> g_holder{0};

/// Locks the table. The lock is the holder's process id, so that a fork's child does not wait for a
/// thread that it does not have. After 200 tries the lock is not taken.
class Hold {
public:
  Hold() {
    const int self = getpid();
    for (unsigned tries = 0; tries < 200 && !held_; tries++) {
      int holder = g_holder.load(std::memory_order_relaxed);
      held_ = (holder == 0 || holder != self) &&
              g_holder.compare_exchange_strong(holder, self, std::memory_order_acquire);
      if (!held_)
        sched_yield();
    }
  }
  ~Hold() {
    if (held_)
      g_holder.store(0, std::memory_order_release);
  }
  Hold(const Hold &) = delete;
  Hold &operator=(const Hold &) = delete;
  explicit operator bool() const { return held_; }

private:
  KeepErrno keep_;
  bool held_ = false;
};

const void *pointer(uintptr_t address) { return reinterpret_cast<const void *>(address); }

void drop(Mapping &m) {
  m = {};
  while (g_used && !g_mappings[g_used - 1].end)
    g_used--;
}

void tell_again(Mapping &m, uintptr_t start, uintptr_t end) {
  announce_site(m.cell);
  note_reallocate(pointer(start), end - start, pointer(m.start), nullptr);
  m.start = start;
  m.end = end;
}

/// Records that [from, to) is unmapped. A hole in the middle is not recorded.
void cut(Mapping &m, uintptr_t from, uintptr_t to) {
  if (!m.end || to <= m.start || m.end <= from)
    return;
  if (from <= m.start && m.end <= to) {
    note_free(pointer(m.start));
    drop(m);
  } else if (from <= m.start) {
    tell_again(m, to, m.end);
  } else if (m.end <= to) {
    tell_again(m, m.start, from);
  }
}

void cut_all(uintptr_t from, uintptr_t to) {
  for (unsigned i = g_used; i-- > 0;)
    cut(g_mappings[i], from, to);
}

} // namespace

void note_mapped(const void *p, size_t bytes, const smalloc_cell *cell) {
  const auto start = reinterpret_cast<uintptr_t>(p);
  const uintptr_t end = start + align_up(bytes, kBasePageBytes);
  if (!p || start % kBasePageBytes || end <= start) // also refuses MAP_FAILED
    return;
  const Hold hold;
  if (hold) {
    cut_all(start, end); // mapped over by MAP_FIXED, or unmapped unseen
    unsigned i = 0;
    while (i < g_used && g_mappings[i].end)
      i++;
    if (i < kMostMappings) {
      g_mappings[i] = {start, end, cell};
      g_used = i == g_used ? i + 1 : g_used;
    }
  }
  announce_site(cell);
  note_allocate(p, end - start, nullptr);
}

void note_unmapped(const void *p, size_t bytes) {
  const auto from = reinterpret_cast<uintptr_t>(p);
  const uintptr_t to = from + align_up(bytes, kBasePageBytes);
  if (from % kBasePageBytes || to <= from || !g_used)
    return;
  if (const Hold hold; hold)
    cut_all(from, to);
}

void note_remapped(const void *old, size_t old_bytes, const void *p, size_t bytes) {
  const auto from = reinterpret_cast<uintptr_t>(old), start = reinterpret_cast<uintptr_t>(p);
  const uintptr_t to = from + align_up(old_bytes, kBasePageBytes),
                  end = start + align_up(bytes, kBasePageBytes);
  if (from % kBasePageBytes || start % kBasePageBytes || end <= start || !g_used)
    return;
  const Hold hold;
  if (!hold)
    return;
  for (unsigned i = g_used; i-- > 0;) {
    Mapping &m = g_mappings[i];
    if (m.end && m.start == from && m.end == to)
      tell_again(m, start, end);
    else if (start != from)
      cut(m, from, to); // a part of it has been moved
  }
}

} // namespace smalloc::trace
