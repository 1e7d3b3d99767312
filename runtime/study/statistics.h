// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// statistics.h decides when two series of runs differ, and how many runs it would take to tell.
//
// A run's time has a lower bound and a long tail, so medians are compared, and the spread is the
// median absolute deviation, scaled to a standard deviation (1.4826 for a normal distribution:
// Rousseeuw and Croux, JASA 1993). The standard error of a median is 1.2533 s / sqrt(n).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace smalloc::study {

// From fewer no spread is known, and a difference shows nothing.
inline constexpr size_t kFewestRuns = 3;

struct Summary {
  size_t runs = 0;
  double median = 0, low = 0, high = 0; // low, high: least and greatest
  double deviation = 0;                 // robust standard deviation
  // deviation / median; 0 when the median is 0.
  double spread() const { return median > 0 ? deviation / median : 0; }
};

Summary summarize(std::vector<double> values);

struct Comparison {
  double speedup = 1; // base median / other median; 1 when there is nothing to divide
  // The difference is within what the spread of so many runs explains (95 %).
  bool below_noise = true;
  // Runs of each that would show this difference (95 % sure, 80 % power); nothing when they agree
  // exactly, or when there are too few runs to know the spread. At most 10,000.
  std::optional<uint64_t> repeats_needed;
};

Comparison compare(const Summary &base, const Summary &other);

// Of positive values; 1 for none.
double geometric_mean(std::span<const double> values);

} // namespace smalloc::study
