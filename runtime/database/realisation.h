// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// realisation.h decides what is learned from runs about predictions: what a program has really saved of what was predicted.
// Prices of walks are measured on loops of the calibration's own, and no two programs hide the same part of a walk behind other
// work; how much of it one program hides changes little from input to input.
#pragma once

#include "runtime/database/history.h"

namespace smalloc::database {

struct Realisation {
  /// Of what is predicted for the program, what to expect: 1 until runs say otherwise, 0 where it has saved nothing.
  double share = 1;
  double predicted_seconds = 0, measured_seconds = 0; ///< sums over the inputs, a run of each
  size_t inputs = 0, base_runs = 0, superpage_runs = 0;

  bool known() const { return inputs != 0; }
};

/// By inputs of which there is an analysis with this machine profile, and between it and the next one kRunsToCompare runs or more on
/// this host whose directives held; and as many on base pages, whenever. A time is the least of user + system time: others only ever make a run
/// longer. What the runs leave open (their medians lie that far above the least) draws the share towards 1, against the quarter by
/// which a prediction is off before any run is known. analyses, runs: of one program's builds, in any order.
Realisation realise(const std::vector<Analysis> &analyses, const std::vector<Run> &runs,
                    const std::string &host, const std::string &machine);

} // namespace smalloc::database
