// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// deviation.h decides when runs contradict their analysis so far that it should be made again, from a new recording (method: a mismatch
// de-emphasises the directive, or asks for a deeper analysis; Cascaval et al., PACT 2005, validation). Directives lose their trust
// one by one as runs tell of them (history.h); this is about the analysis as a whole.
#pragma once

#include "runtime/database/judgement.h"
#include "runtime/database/realisation.h"

#include <string>
#include <vector>

namespace smalloc::database {

/// One figure that is off.
struct Deviation {
  std::string what; ///< page_faults, tlb_misses, saved_seconds, directives
  double measured = 0, predicted = 0;
};

/// A figure is off from this many times, or a share.
inline constexpr double kTimesOff = 2;
/// Fewer are a program's start, its libraries' and its stack's: 64 MiB of first touches; a millisecond or so of walks.
inline constexpr double kLeastFaultsOff = 16384, kLeastMissesOff = 1e6;

/// The latest analysis of that input, whichever of the program's builds was recorded. nullptr: none, or the input is not known.
const Analysis *analysis_of_input(const std::vector<Analysis> &analyses, const std::string &input);

/// analysis: of the input that `runs` is about. Of runs on base pages, where all builds of a program do the same: their first touches and
/// counted misses. Of what superpages save, once there are runs enough to tell (realisation.h). given_up, of so many
/// directives: those that did not hold in most of three runs or more; without the recorded input nobody expects them to.
std::vector<Deviation> deviations(const Analysis *analysis, const Judgement &runs,
                                  const Realisation &realised, size_t given_up, size_t directives);

} // namespace smalloc::database
