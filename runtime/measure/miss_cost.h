// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// miss_cost.h decides what one TLB miss costs as a single number, and what share of a run's time
// misses take at most (M. Gorman, Huge pages part 5, LWN.net 2010, and the tlbmiss_cost.sh of
// libhugetlbfs). Deviation: the working set is chased with a line a page, less the same lines
// packed, instead of calibrator's stride; the steps and the rule to stop are theirs.
#pragma once

#include "runtime/measure/latency_source.h"

#include <functional>
#include <optional>
#include <string>

namespace smalloc::calibrate {

struct SteadyLatency {
  double cycles = 0;              // of the last working set
  uint64_t working_set_bytes = 0; // the last
};

// Receives what tlbmiss_cost.sh -v traced.
using Trace = std::function<void(const std::string &)>;

// Enlarges the working set from 13,631,488 bytes by 3,932,160 until three latencies in a row are
// within two cycles of the one before. Nothing when `cycles_of` has none, or at `most_bytes`.
std::optional<SteadyLatency> find_steady_latency(
    const std::function<std::optional<double>(uint64_t working_set_bytes)> &cycles_of,
    uint64_t most_bytes, const Trace &trace);

// The four lines, each with its newline. cycles > 0.
std::string miss_cost_lines(double cycles, double frequency_hz);

// What the PMU counted in one run.
struct WalkCounts {
  double cycles = 0;      // cycles of the run
  double walk_cycles = 0; // 0: not counted in this run
  double misses = 0;      // 0: not counted in this run
};

// Walk cycles over misses, from two runs that count one each. Nothing unless the runs' own cycles
// agree within 4 % (tlbmiss_cost.sh: TIMER_DTLB*4/100) and there were misses.
std::optional<double> miss_cost_of_counts(const WalkCounts &with_misses,
                                          const WalkCounts &with_walks);

// misses * cost / cycles: an upper bound of what superpages can gain, since walks overlap with
// other work. cycles > 0; at most 1.
double translation_share(double misses, double cost_cycles, double cycles);

} // namespace smalloc::calibrate
