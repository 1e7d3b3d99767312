// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// access_gates.cpp decides what an instrumented image gets when it comes and goes (smalloc/access.h): the entries and the
// threshold of the recording, if there is one or the image asks for one. The dynamic loader calls one of these at a
// time; the gates' list is theirs alone.
#include "runtime/trace/collector.h"
#include "smalloc/base/units.h"
#include "smalloc/include/smalloc/access.h"
#include "smalloc/include/smalloc/site.h"

using namespace smalloc;

static_assert(SMALLOC_MOST_WALK_REFERENCES == trace::kMostWalkReferences);

namespace {

smalloc_gate *g_gates;

/// The trace counts hashes in 32 bits, the program spares itself the shift.
uint64_t gate_threshold() {
  const uint64_t threshold = trace::region_threshold();
  return threshold == trace::kEveryRegion ? UINT64_MAX : threshold << 32;
}

void access(uint64_t address) {
  trace::note_access(address & ~SMALLOC_ACCESS_WRITES, (address & SMALLOC_ACCESS_WRITES) != 0);
}

void walk(uint64_t iterations, uint64_t count, const smalloc_walk_reference *references) {
  if (!trace::recording() || count > trace::kMostWalkReferences)
    return;
  trace::WalkReference list[trace::kMostWalkReferences];
  for (uint64_t i = 0; i < count; i++)
    list[i] = {references[i].address & ~SMALLOC_ACCESS_WRITES, references[i].stride,
               (references[i].address & SMALLOC_ACCESS_WRITES) != 0};
  trace::note_walk(iterations, list, count);
}

} // namespace

SMALLOC_EXPORT void __smalloc_v1_open_gate(smalloc_gate *gate) {
  if (!gate || gate->version != SMALLOC_ABI_VERSION || gate->bytes < sizeof(smalloc_gate))
    return;
  if (!trace::recording() && gate->directory)
    trace::record_into(gate->directory);
  gate->access = access;
  gate->walk = walk;
  gate->next = g_gates;
  g_gates = gate;
  // Behind the entries: whoever sees it sees them.
  for (smalloc_gate *g = g_gates; g; g = g->next)
    __atomic_store_n(&g->threshold, gate_threshold(), __ATOMIC_RELEASE);
}

SMALLOC_EXPORT void __smalloc_v1_close_gate(smalloc_gate *gate) {
  for (smalloc_gate **link = &g_gates; *link; link = &(*link)->next)
    if (*link == gate) {
      *link = gate->next;
      break;
    }
}
