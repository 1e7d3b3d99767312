// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// paired.cpp computes the t interval of the logarithms of the ratios, and its exponential.
#include "runtime/study/paired.h"

#include "runtime/study/statistics.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

namespace smalloc::study {

double student_t95(size_t degrees) {
  // Of 1 to 10 degrees of freedom; beyond, an expansion that is exact to 0.003 (Hill 1970).
  static constexpr double kTable[] = {12.706, 4.303, 3.182, 2.776, 2.571,
                                      2.447,  2.365, 2.306, 2.262, 2.228};
  if (degrees <= std::size(kTable))
    return kTable[std::max<size_t>(degrees, 1) - 1];
  const double z = 1.95996, n = static_cast<double>(degrees);
  return z + (z * z * z + z) / (4 * n) +
         (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * n * n);
}

PairedChange paired_change(std::span<const double> before, std::span<const double> after,
                           double resolution) {
  PairedChange change;
  change.pairs = std::min(before.size(), after.size());
  if (change.pairs == 0)
    return change;
  const auto n = static_cast<double>(change.pairs);
  change.before = summarize({before.begin(), before.begin() + change.pairs}).median;
  change.after = summarize({after.begin(), after.begin() + change.pairs}).median;
  std::vector<double> logs;
  double sum = 0, squares = 0;
  for (size_t i = 0; i < change.pairs; i++) {
    logs.push_back(std::log(std::max(before[i], resolution) / std::max(after[i], resolution)));
    sum += logs.back();
  }
  const double mean = sum / n;
  for (const double value : logs)
    squares += (value - mean) * (value - mean);
  const double half =
      change.pairs < 2 ? 0 : student_t95(change.pairs - 1) * std::sqrt(squares / (n - 1) / n);
  change.ratio = std::exp(mean);
  change.low = std::exp(mean - half);
  change.high = std::exp(mean + half);
  change.clear = change.pairs >= kFewestRuns && std::fabs(change.ratio - 1) >= kLeastChange &&
                 (change.low > 1 || change.high < 1);
  return change;
}

} // namespace smalloc::study
