// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// deviation.h decides when runs contradict their analysis so far that it should be made again, from a new recording (Cascaval et al.,
// PACT 2005, validation: a mismatch de-emphasises the directive, or asks for a deeper analysis). Directives lose their trust
// one by one as runs tell of them (history.h), and what superpages save is learned (realisation.h): neither is a reason here by itself.
#pragma once

#include "runtime/database/run_comparison.h"

#include <string>
#include <vector>

namespace smalloc::database {

/// One figure that is off.
struct Deviation {
  std::string what; ///< page_faults, tlb_misses, directives
  double measured = 0, predicted = 0;
};

/// A figure is off by more than this many times.
inline constexpr double kTimesOff = 2;
/// So many are a program's start, its libraries' and its stack's: 64 MiB of first touches; a millisecond or so of walks.
inline constexpr double kLeastFaultsOff = 16384, kLeastMissesOff = 1e6;

/// The latest analysis of that input that predicts something, whichever of the program's builds was recorded. nullptr: none, or the
/// input is not known.
const Analysis *analysis_of_input(const std::vector<Analysis> &analyses, const std::string &input);

/// Page faults and counted misses of runs on base pages, against the analysis of their input. Not of runs that were on superpages all
/// the same (THP for everybody: fewer faults than their memory has pages); misses only where it was of the runs' machine:
/// another's TLB misses otherwise.
std::vector<Deviation> deviations(const Analysis *analysis, const Judgement &runs,
                                  bool of_this_machine);

/// Directives that were given up by runs since the latest of the analyses: of how many how few still hold. Nothing: none was.
std::optional<Deviation> given_up_since(const std::vector<Analysis> &analyses,
                                        const std::vector<Run> &runs, const directives::File &file);

} // namespace smalloc::database
