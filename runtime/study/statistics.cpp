// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// statistics.cpp computes medians, deviations and the significance of a difference.
#include "runtime/study/statistics.h"

#include <algorithm>
#include <cmath>

namespace smalloc::study {
namespace {

constexpr double kNormalDeviation = 1.4826, kMedianError = 1.2533;
// Normal quantiles: 1.96 for two-sided 95 %, and 0.84 more for 80 % power.
constexpr double kSure = 1.96, kSureWithPower = 1.96 + 0.84;
constexpr double kMostRepeats = 10000;

double middle(std::vector<double> &values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

} // namespace

Summary summarize(std::vector<double> values) {
  Summary s;
  s.runs = values.size();
  if (values.empty())
    return s;
  s.median = middle(values);
  s.low = values.front();
  s.high = values.back();
  for (double &value : values)
    value = std::fabs(value - s.median);
  s.deviation = kNormalDeviation * middle(values);
  return s;
}

Comparison compare(const Summary &base, const Summary &other) {
  Comparison c;
  if (base.runs == 0 || other.runs == 0 || base.median <= 0 || other.median <= 0)
    return c;
  c.speedup = base.median / other.median;
  const double apart = std::fabs(base.median - other.median);
  const double variance = base.deviation * base.deviation + other.deviation * other.deviation;
  const double error =
      kMedianError * std::sqrt(base.deviation * base.deviation / static_cast<double>(base.runs) +
                               other.deviation * other.deviation / static_cast<double>(other.runs));
  const bool spread_known = base.runs >= kFewestRuns && other.runs >= kFewestRuns;
  c.below_noise = !spread_known || apart <= kSure * error || apart == 0;
  if (apart > 0 && spread_known) {
    const double factor = kMedianError * kSureWithPower / apart;
    c.repeats_needed =
        static_cast<uint64_t>(std::clamp(std::ceil(factor * factor * variance), 3.0, kMostRepeats));
  }
  return c;
}

double geometric_mean(std::span<const double> values) {
  double sum = 0;
  for (double value : values)
    sum += std::log(value);
  return values.empty() ? 1 : std::exp(sum / static_cast<double>(values.size()));
}

} // namespace smalloc::study
