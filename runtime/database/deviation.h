// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// deviation.h finds runs that contradict their analysis so far that it should be made again, from a
// new recording (Cascaval et al., PACT 2005, validation: a mismatch de-emphasises the directive, or
// asks for a deeper analysis). Directives lose their trust one by one by the results of runs
// (history.h). What superpages save is learned (realisation.h). Neither is a reason here by itself.
#pragma once

#include "runtime/database/run_comparison.h"

#include <string>
#include <vector>

namespace smalloc::database {

/// One figure that deviates.
struct Deviation {
  std::string what; ///< page_faults, tlb_misses, directives
  double measured = 0, predicted = 0;
};

/// Factor from which on a figure deviates.
inline constexpr double kTimesOff = 2;
/// Differences that a program's start, its libraries and its stack explain: first touches of 64
/// MiB, and a million walks, which take some ten milliseconds.
inline constexpr double kLeastFaultsOff = 16384, kLeastMissesOff = 1e6;

/// Returns the latest analysis of that input with a prediction, whichever of the program's builds
/// was recorded. nullptr: there is none, or the input is unknown.
const Analysis *analysis_of_input(const std::vector<Analysis> &analyses, const std::string &input);

/// Compares page faults and counted misses of runs on base pages with the analysis of their input.
/// Returns nothing if these runs got superpages all the same (THP for every process): then their
/// median of page faults is below half of the base pages of their peak memory. Misses are compared
/// only if the analysis is of the runs' machine, since another machine's TLB misses differ.
std::vector<Deviation> deviations(const Analysis *analysis, const Judgement &runs,
                                  bool of_this_machine);

/// Returns a deviation if runs since the latest analysis gave up directives: the number that still
/// hold (measured) of all (predicted). Returns nothing if none was given up.
std::optional<Deviation> given_up_since(const std::vector<Analysis> &analyses,
                                        const std::vector<Run> &runs, const directives::File &file);

} // namespace smalloc::database
