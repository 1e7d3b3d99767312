// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// statistics.h tests whether two series of runs differ, and estimates how many runs would show a
// difference.
//
// A run's time has a lower bound and a long tail, so medians are compared. The spread is the median
// absolute deviation, scaled to a standard deviation: 1.4826 for a normal distribution (Rousseeuw
// and Croux, JASA 1993). The standard error of a median is 1.2533 s / sqrt(n).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace smalloc::study {

// With fewer runs the spread is unknown and no difference is significant.
inline constexpr size_t kFewestRuns = 3;

struct Summary {
  size_t runs = 0;
  double median = 0, low = 0, high = 0; // low, high: minimum and maximum
  double deviation = 0;                 // robust standard deviation
  // Returns deviation / median; 0 if the median is 0.
  double spread() const { return median > 0 ? deviation / median : 0; }
};

Summary summarize(std::vector<double> values);

struct Comparison {
  double speedup = 1; // base median / other median; 1 if there is nothing to divide
  // The difference is within what the spread of these runs explains (95 %).
  bool below_noise = true;
  // Runs of each configuration that would show this difference (95 % sure, 80 % power), at most
  // 10,000. Absent if the medians are equal or there are too few runs to know the spread.
  std::optional<uint64_t> repeats_needed;
};

Comparison compare(const Summary &base, const Summary &other);

// Returns the geometric mean of positive values; 1 if there are none.
double geometric_mean(std::span<const double> values);

} // namespace smalloc::study
