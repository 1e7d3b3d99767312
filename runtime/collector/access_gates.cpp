// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// access_gates.cpp opens and closes the gates of instrumented images (smalloc/access.h).
// An opened gate gets the entry functions and the threshold of the recording. If there is no
// recording and the image names a directory, opening its gate starts one. While an AccessListener
// is set, every gate passes all regions: the listener samples on its own, and its pages may lie
// anywhere.
// The dynamic loader opens and closes one gate at a time. When the sample's threshold falls
// (samples:N), follow_threshold() updates the gates. If the list is locked at that moment, the next
// fall updates them. Accesses that a gate passes until then are dropped when they are written.
#include "runtime/collector/collector.h"
#include "runtime/collector/region_table.h"
#include "smalloc/base/units.h"
#include "smalloc/include/smalloc/access.h"
#include "smalloc/include/smalloc/site.h"

#include <atomic>
#include <sched.h>
#include <stddef.h>

using namespace smalloc;

static_assert(SMALLOC_MOST_WALK_REFERENCES == trace::kMostWalkReferences);
static_assert(SMALLOC_ACCESS_WRITES == trace::kWrites);

namespace {

smalloc_gate *g_gates;
std::atomic<bool> g_changing{false}; // guards the list and the fields of its gates
trace::AccessListener g_listener;

trace::AccessListener listener() { return __atomic_load_n(&g_listener, __ATOMIC_ACQUIRE); }

/// Returns the threshold in a gate's unit. The trace counts hashes in 32 bits and a gate in 64,
/// which saves the program a shift for each access.
uint64_t gate_threshold() {
  if (listener())
    return UINT64_MAX;
  const uint64_t threshold = trace::region_threshold();
  return threshold == trace::kEveryRegion ? UINT64_MAX : threshold << 32;
}

/// Thread buffer without room: every access goes to access(). Gates older than version 3 look up
/// recent pages behind it.
struct NoRoom {
  smalloc_recorded told;
  uint32_t pages[128];
};
__thread NoRoom t_no_room __attribute__((tls_model("initial-exec")));
constexpr uint32_t kFirstVersionWithRoom = 3, kFirstVersionWithRegions = 4;

/// Returns the least number of bytes that a gate of `version` has.
size_t bytes_of(uint32_t version) {
  return version < kFirstVersionWithRoom      ? offsetof(smalloc_gate, told)
         : version < kFirstVersionWithRegions ? offsetof(smalloc_gate, regions)
                                              : sizeof(smalloc_gate);
}

int64_t offset_of(const smalloc_recorded &told) {
  return reinterpret_cast<const char *>(&told) -
         static_cast<const char *>(__builtin_thread_pointer());
}

void look(const uint8_t *entry) { trace::find_out_region(entry, gate_threshold); }

/// Sets the threshold, the buffer and the region table of every gate. While a listener is set,
/// accesses go to access(), else to the thread's buffer. Without a region table all accesses are
/// buffered, and filtered when they are written (all_recorded()).
void set_gates() {
  const uint64_t threshold = gate_threshold();
  // If every access goes to the thread's buffer, no loop reads the table.
  const bool looked_up = threshold && (threshold != UINT64_MAX || listener());
  const uint8_t *regions = looked_up ? trace::region_table() : nullptr;
  trace::forget_regions();
  trace::all_recorded(threshold && threshold != UINT64_MAX && !regions);
  for (smalloc_gate *g = g_gates; g; g = g->next) {
    const bool room = g->version >= kFirstVersionWithRoom && !listener();
    if (g->bytes > offsetof(smalloc_gate, told))
      __atomic_store_n(&g->told, offset_of(room ? trace::told() : t_no_room.told),
                       __ATOMIC_RELAXED);
    const bool with_regions = g->version >= kFirstVersionWithRegions;
    if (with_regions)
      __atomic_store_n(&g->regions, regions, __ATOMIC_RELEASE);
    if (g->version >= kFirstVersionWithRoom)
      __atomic_store_n(&g->every,
                       room && (threshold == UINT64_MAX || (with_regions && threshold && !regions)),
                       __ATOMIC_RELEASE);
    __atomic_store_n(&g->threshold, threshold, __ATOMIC_RELEASE);
  }
}

void hold_gates() {
  while (g_changing.exchange(true, std::memory_order_acquire))
    sched_yield(); // the holder makes only a few stores
}
void leave_gates() { g_changing.store(false, std::memory_order_release); }

void follow_threshold() {
  if (g_changing.exchange(true, std::memory_order_acquire))
    return;
  set_gates();
  leave_gates();
}

/// Passes the accesses of a loop's reference to the listener: one call for each base page, with the
/// number of cache lines that the loop visits there.
void tell_walk(trace::AccessListener tell, uint64_t iterations, const smalloc_walk_reference &r) {
  constexpr uint64_t kLine = 64;
  if (iterations == 0)
    return;
  const auto forward = static_cast<uint64_t>(r.stride);
  const uint64_t stride = r.stride < 0 ? 0 - forward : forward; // INT64_MIN has no negative
  const uint64_t step = stride > kLine ? stride : kLine;
  const uint64_t lines =
      stride >= kLine ? iterations
                      : iterations / kLine * stride + iterations % kLine * stride / kLine + 1;
  const uint64_t together = step < kBasePageBytes ? kBasePageBytes / step : 1;
  for (uint64_t line = 0; line < lines; line += together) {
    const uint64_t bytes = line * step;
    const uint64_t address = r.address & ~SMALLOC_ACCESS_WRITES;
    tell(r.stride < 0 ? address - bytes : address + bytes,
         static_cast<uint32_t>(min_of(together, lines - line)));
  }
}

void access(uint64_t told) {
  const uint64_t address = told & ~SMALLOC_ACCESS_WRITES;
  if (const trace::AccessListener tell = listener()) {
    tell(address, 1);
    if (trace::region_hash(address) >= trace::region_threshold())
      return; // the gate passes it for the listener, not for the recording
  }
  trace::note_access(told);
}

void walk(uint64_t iterations, uint64_t count, const smalloc_walk_reference *references) {
  if (count > trace::kMostWalkReferences)
    return;
  if (const trace::AccessListener tell = listener())
    for (uint64_t i = 0; i < count; i++)
      tell_walk(tell, iterations, references[i]);
  if (!trace::recording())
    return;
  trace::WalkReference list[trace::kMostWalkReferences];
  for (uint64_t i = 0; i < count; i++)
    list[i] = {references[i].address & ~SMALLOC_ACCESS_WRITES, references[i].stride,
               (references[i].address & SMALLOC_ACCESS_WRITES) != 0};
  trace::note_walk(iterations, list, count);
}

} // namespace

SMALLOC_EXPORT void __smalloc_v1_open_gate(smalloc_gate *gate) {
  if (!gate || gate->version == 0 || gate->version > SMALLOC_GATE_VERSION ||
      gate->bytes < bytes_of(gate->version))
    return;
  // A program that is run to migrate pages wants no trace, unless SMALLOC_CONF names one.
  if (!trace::recording() && gate->directory && !listener())
    trace::record_into(gate->directory);
  gate->access = access;
  gate->walk = walk;
  if (gate->version >= kFirstVersionWithRoom)
    gate->room = trace::make_room;
  if (gate->version >= kFirstVersionWithRegions)
    gate->look = look;
  trace::when_lowered(follow_threshold);
  hold_gates();
  gate->next = g_gates;
  g_gates = gate;
  set_gates(); // after the entries: a thread that sees the threshold sees them
  leave_gates();
}

SMALLOC_EXPORT void __smalloc_v1_close_gate(smalloc_gate *gate) {
  hold_gates();
  for (smalloc_gate **link = &g_gates; *link; link = &(*link)->next)
    if (*link == gate) {
      *link = gate->next;
      break;
    }
  leave_gates();
}

void trace::listen(AccessListener tell) {
  __atomic_store_n(&g_listener, tell, __ATOMIC_RELEASE);
  hold_gates();
  set_gates();
  leave_gates();
}
