// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cpi_stack.h decides where a run's cycles went: data cache, translation, branches, other (the stack
// of Korn and Chang 2007, figure 4, from POWER's completion stalls). Other processors count less: a
// part is counted where there is an event of cycles, else estimated as events times a cost, else
// unknown and within "other".
//
// Parts that processors overlap cannot add up to more than all cycles: what an earlier part has
// taken is not given to a later one. A walk stalls the load that waits for it, so stalls on memory
// count less the walks.
#pragma once

#include "runtime/pmu/counters.h"

#include <string>
#include <vector>

namespace smalloc::pmu {

struct CpiCosts {
  double walk_cycles = 0; // of one walk, where walks' cycles are not counted; 0: unknown
  // Refill of the front end: 11 to 13 cycles on Zen, 16 to 20 on Intel's cores (Fog, microarchitecture.pdf).
  double branch_miss_cycles = 15;
};

struct CpiPart {
  std::string name;   // translation, dcache, branch, other
  double cpi = 0;     // cycles an instruction
  std::string source; // counted, estimated
};

struct CpiStack {
  double cpi = 0;
  std::vector<CpiPart> parts; // those that are known, "other" last; they sum up to cpi
};

// Nothing without cycles and instructions.
std::optional<CpiStack> cpi_stack(const Counts &counts, const CpiCosts &costs);

} // namespace smalloc::pmu
