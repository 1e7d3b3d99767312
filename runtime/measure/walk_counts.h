// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// walk_counts.h measures the cost of a page walk with the PMU (M. Gorman 2010, and tlbmiss_cost.sh
// of libhugetlbfs). It runs the same work twice, because not every PMU counts misses and walk
// cycles at a time. The first run counts misses, the second walk cycles. If the runs' own cycles
// differ by more than 4 %, the pair is rejected and repeated, at most twice.
#pragma once

#include "runtime/pmu/perf_source.h"

#include <functional>
#include <optional>
#include <string>

namespace smalloc::calibrate {

struct CountedWalks {
  std::optional<double> cycles; // of one walk
  double misses = 0;            // in the run that counted misses
  std::string why;              // why there is no number; empty if there is one
};

CountedWalks count_walks(pmu::PerfSource &source, const std::function<void()> &work);

} // namespace smalloc::calibrate
