// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// walk_counts.cpp runs the work, and words the reason if there is no number.
#include "runtime/measure/walk_counts.h"

#include "runtime/measure/miss_cost.h"
#include "runtime/pmu/counters.h"

namespace smalloc::calibrate {
namespace {

constexpr unsigned kAttempts = 3;
using pmu::Quantity;

pmu::Counts count(pmu::PerfSource &source, Quantity quantity, const std::function<void()> &work) {
  const Quantity quantities[] = {Quantity::kCycles, quantity};
  pmu::Counters counters(source, quantities, {});
  counters.start();
  work();
  counters.stop();
  return counters.read();
}

} // namespace

CountedWalks count_walks(pmu::PerfSource &source, const std::function<void()> &work) {
  CountedWalks result;
  if (result.why = pmu::obstacle(source); !result.why.empty())
    return result;
  if (!source.event(Quantity::kWalkCycles) || !source.event(Quantity::kWalks)) {
    result.why = "this processor does not count the cycles of walks";
    return result;
  }
  for (unsigned attempt = 0; attempt < kAttempts && !result.cycles; attempt++) {
    const pmu::Counts misses = count(source, Quantity::kWalks, work);
    const pmu::Counts walks = count(source, Quantity::kWalkCycles, work);
    if (!misses[Quantity::kWalks] || !walks[Quantity::kWalkCycles] || !misses[Quantity::kCycles] ||
        !walks[Quantity::kCycles]) {
      result.why = "its events cannot be counted together with cycles";
      return result;
    }
    result.misses = *misses[Quantity::kWalks];
    result.cycles =
        miss_cost_of_counts({*misses[Quantity::kCycles], 0, result.misses},
                            {*walks[Quantity::kCycles], *walks[Quantity::kWalkCycles], 0});
  }
  if (!result.cycles)
    result.why =
        result.misses > 0 ? "two runs never agreed in their cycles" : "no miss was counted";
  return result;
}

} // namespace smalloc::calibrate
