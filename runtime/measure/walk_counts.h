// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// walk_counts.h decides how a PMU says what a page walk costs (M. Gorman 2010, and tlbmiss_cost.sh
// of libhugetlbfs): the same work twice, misses counted in the first run and walk cycles in the
// second, because not every PMU counts both at a time. Runs whose own cycles differ by more than 4 %
// were not the same work: they are rejected, and made again twice at most.
#pragma once

#include "runtime/pmu/perf_source.h"

#include <functional>
#include <optional>
#include <string>

namespace smalloc::calibrate {

struct CountedWalks {
  std::optional<double> cycles; // of one walk
  double misses = 0;            // in the run that counted them
  std::string why;              // why there is no number
};

CountedWalks count_walks(pmu::PerfSource &source, const std::function<void()> &work);

} // namespace smalloc::calibrate
