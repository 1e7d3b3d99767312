// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// miss_cost.h computes the cost of one TLB miss as a single number, and an upper bound for the
// share of a run's time that misses take. Source: M. Gorman, Huge pages part 5, LWN.net 2010, and
// tlbmiss_cost.sh of libhugetlbfs. The steps and the stopping rule are theirs. Deviation: the chase
// visits one line per page, minus the same lines packed, instead of calibrator's stride.
#pragma once

#include "runtime/measure/latency_source.h"

#include <functional>
#include <optional>
#include <string>

namespace smalloc::calibrate {

struct SteadyLatency {
  double cycles = 0;              // of the last working set
  uint64_t working_set_bytes = 0; // the last one
};

// Receives the lines that tlbmiss_cost.sh -v prints.
using Trace = std::function<void(const std::string &)>;

// Enlarges the working set from 13,631,488 bytes in steps of 3,932,160. Stops when three latencies
// in a row are within two cycles of their predecessor. Returns nothing if that does not happen up
// to `most_bytes`. A size without a latency is skipped.
std::optional<SteadyLatency> find_steady_latency(
    const std::function<std::optional<double>(uint64_t working_set_bytes)> &cycles_of,
    uint64_t most_bytes, const Trace &trace);

// Returns the four lines of tlbmiss_cost.sh, each with its newline. Precondition: cycles > 0.
std::string miss_cost_lines(double cycles, double frequency_hz);

// Counts of the PMU in one run.
struct WalkCounts {
  double cycles = 0;      // cycles of the run
  double walk_cycles = 0; // 0: not counted in this run
  double misses = 0;      // 0: not counted in this run
};

// Returns walk cycles / misses, from two runs that count one of them each. Returns nothing if the
// runs' own cycles differ by more than 4 % (tlbmiss_cost.sh: TIMER_DTLB*4/100) or there were no
// misses.
std::optional<double> miss_cost_of_counts(const WalkCounts &with_misses,
                                          const WalkCounts &with_walks);

// Returns misses * cost_cycles / cycles, at most 1. This is an upper bound for the gain of
// superpages, because walks overlap with other work. Precondition: cycles > 0.
double translation_share(double misses, double cost_cycles, double cycles);

} // namespace smalloc::calibrate
