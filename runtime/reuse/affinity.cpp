// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// affinity.cpp sums both histograms over octaves of the distance (0, 1, 2-3, 4-7, ...) and compares
// the sums.
#include "runtime/reuse/affinity.h"

#include <array>
#include <bit>
#include <cmath>

namespace smalloc::reuse {
namespace {

std::array<double, 66> octaves(const Histogram &h) {
  std::array<double, 66> sums{};
  for (size_t i = 0; i < h.bins(); i++)
    if (const Histogram::Bin bin = h.bin(i); bin.weight > 0)
      sums[static_cast<size_t>(std::bit_width(bin.low))] += bin.weight;
  sums.back() = h.cold();
  return sums;
}

} // namespace

double hellinger_affinity(const Histogram &a, const Histogram &b) {
  const double all_a = a.total(), all_b = b.total();
  if (all_a <= 0 || all_b <= 0)
    return 0;
  const auto p = octaves(a), q = octaves(b);
  double sum = 0;
  for (size_t i = 0; i < p.size(); i++)
    sum += std::sqrt(p[i] / all_a * (q[i] / all_b));
  return sum;
}

} // namespace smalloc::reuse
