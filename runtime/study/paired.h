// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// paired.h compares two ways to run a program by pairs of runs that follow each other.
//
// The logarithms of the pairs' ratios get Student's t interval (Student, Biometrika 1908; for
// benchmarks Kalibera and Jones, ISMM 2013). A pair's two runs follow each other, so a machine that
// slows down over the minutes changes both and cancels out.
#pragma once

#include <cstddef>
#include <span>

namespace smalloc::study {

struct PairedChange {
  size_t pairs = 0;
  double before = 0, after = 0; // medians
  double ratio = 1;             // geometric mean of before / after: above 1, `after` is less
  double low = 1, high = 1;     // 95 % interval of `ratio`; ratio itself for one pair
  // At least kFewestRuns pairs, the interval excludes 1, and the change is at least kLeastChange.
  bool clear = false;
};

// A smaller change is called no difference, whatever the interval says.
inline constexpr double kLeastChange = 0.005;

// Compares the pairs before[i], after[i]. Values below `resolution` (> 0, same unit) count as
// `resolution`, so that what cannot be measured shows no change. The longer end of series of
// different lengths is ignored.
PairedChange paired_change(std::span<const double> before, std::span<const double> after,
                           double resolution);

// The factor of the standard error for a two-sided 95 % interval. degrees: >= 1.
double student_t95(size_t degrees);

} // namespace smalloc::study
