// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cpi_stack.cpp computes the parts in the order of their accuracy, the most accurate first.
#include "runtime/pmu/cpi_stack.h"

#include <algorithm>

namespace smalloc::pmu {

std::optional<CpiStack> cpi_stack(const Counts &counts, const CpiCosts &costs) {
  const auto cycles = counts[Quantity::kCycles], instructions = counts[Quantity::kInstructions];
  if (!cycles || !instructions || *cycles <= 0 || *instructions <= 0)
    return std::nullopt;
  CpiStack stack;
  stack.cpi = *cycles / *instructions;
  double left = *cycles, translation = 0;
  const auto add = [&](const char *name, double part, const char *source) {
    part = std::clamp(part, 0.0, left);
    left -= part;
    stack.parts.push_back({name, part / *instructions, source});
    return part;
  };
  if (const auto walks = counts[Quantity::kWalkCycles])
    translation = add("translation", *walks, "counted");
  else if (const auto misses = counts[Quantity::kWalks]; misses && costs.walk_cycles > 0)
    translation = add("translation", *misses * costs.walk_cycles, "estimated");
  if (const auto stalls = counts[Quantity::kMemoryStalls])
    add("dcache", *stalls - translation, "counted");
  if (const auto misses = counts[Quantity::kBranchMisses])
    add("branch", *misses * costs.branch_miss_cycles, "estimated");
  add("other", left, "counted");
  return stack;
}

} // namespace smalloc::pmu
