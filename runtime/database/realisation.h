// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// realisation.h learns from runs what a program has really saved of what was predicted. The prices
// of walks are measured on loops of the calibration's own, and each program hides another part of a
// walk behind other work. How much of it one program hides changes little from input to input.
#pragma once

#include "runtime/database/history.h"

namespace smalloc::database {

struct Realisation {
  /// Share of a predicted saving to expect: 1 until runs show otherwise, 0 if the program has saved
  /// nothing.
  double share = 1;
  double predicted_seconds = 0, measured_seconds = 0; ///< sums over the inputs, one run of each
  size_t inputs = 0, base_runs = 0, superpage_runs = 0;

  bool known() const { return inputs != 0; }
};

/// Computes the share from the inputs with enough runs. An input counts if it has an analysis with
/// this machine profile, and kRunsToCompare runs or more between this analysis and the next one.
/// These runs were on this host, with directives from the same input, and their directives held.
/// The input also needs as many runs on base pages, from any time. A time is the least user +
/// system time of the runs: other processes only ever make a run longer. How far the medians lie
/// above the least is the runs' uncertainty. It draws the share towards 1, weighed against the
/// quarter by which a prediction is off before any run is known. analyses, runs: of one program's
/// builds, in any order.
Realisation realise(const std::vector<Analysis> &analyses, const std::vector<Run> &runs,
                    const std::string &host, const std::string &machine);

} // namespace smalloc::database
