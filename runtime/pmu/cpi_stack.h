// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cpi_stack.h splits a run's cycles into data cache, translation, branches and other. Source: the
// stack of Korn and Chang 2007, figure 4, which uses POWER's completion stalls.
//
// Other processors have fewer events. A part is counted if there is an event of cycles, else
// estimated as events times a cost. A part that is neither is within "other".
//
// A processor overlaps stalls, but the parts must not add up to more than all cycles. So a later
// part gets only cycles that no earlier part has taken. A walk stalls the load that waits for it,
// so the cycles of walks are subtracted from the stalls on memory.
#pragma once

#include "runtime/pmu/counters.h"

#include <string>
#include <vector>

namespace smalloc::pmu {

struct CpiCosts {
  double walk_cycles = 0; // of one walk, if the cycles of walks are not counted; 0: unknown
  // Cycles to refill the front end: 11 to 13 on Zen, 16 to 20 on Intel's cores (Fog,
  // microarchitecture.pdf).
  double branch_miss_cycles = 15;
};

struct CpiPart {
  std::string name;   // translation, dcache, branch, other
  double cpi = 0;     // cycles per instruction
  std::string source; // counted or estimated
};

struct CpiStack {
  double cpi = 0;
  std::vector<CpiPart> parts; // the known parts, "other" last; their sum is cpi
};

// Computes the stack. Returns nothing if cycles or instructions are not counted.
std::optional<CpiStack> cpi_stack(const Counts &counts, const CpiCosts &costs);

} // namespace smalloc::pmu
