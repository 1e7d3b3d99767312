// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// curve.h finds the knees of a latency curve. A TLB with E entries answers up to E pages at one
// cost and more pages at the cost of the next level. A fully associative LRU TLB rises at once; a
// set-associative one from E to E (1 + 1/ways); hashed or nested ones rise more slowly. A program
// sees the onset of the rise as the reach, so the onset is what find_knee() returns.
//
// Method (Manegold's Calibrator finds the same steps, but in exact data):
//   1. A running median of three removes single outliers in either direction.
//   2. Isotonic regression (pool adjacent violators, Ayer et al. 1955) makes the curve
//   nondecreasing, since more pages never cost less.
//   3. A knee is the first point from which the curve rises by at least 40 % and 1.5 cycles while
//   the pages grow by 35 %.
// The cost of a walk grows slowly as page-table entries fill the caches (some cycles per doubling);
// that growth stays below the limit of a knee.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace smalloc::calibrate {

struct Point {
  uint64_t pages = 0;
  double cycles = 0; // of translation: the chase minus its dense baseline
};

// Factor of pages that one knee spans: a 4-way level is full at 1.25 E, and the grid is coarse.
constexpr double kKneeWindow = 1.35;
// Smallest rise of a knee; a slowly growing walk cost stays below it. A second-level hit costs at
// least 3 cycles (Neoverse N1).
constexpr double kKneeMinRise = 0.4, kKneeMinCycles = 1.5;

struct Knee {
  size_t last_flat = 0;   // index of the last point before the rise
  size_t first_risen = 0; // index of the first point after it began
  double before = 0;      // cycles before the rise
  double noise = 0;       // scatter of the points
  double rise = 0;        // cycles by which the curve rises within the window
  // Returns the cycles that a point beyond the knee must exceed.
  double threshold() const;
};

double median(std::vector<double> values);
// Replaces each element by the median of itself and its neighbours; keeps both ends.
std::vector<double> median_of_three(std::span<const double> values);
// Returns the nondecreasing sequence nearest in least squares. O(n).
std::vector<double> isotonic(std::span<const double> values);
std::vector<Point> smooth(std::span<const Point> curve);

// Returns the first knee at or after index `begin` of a smoothed curve (ascending in pages).
// `noise_cycles` is the scatter of its points.
std::optional<Knee> find_knee(std::span<const Point> curve, size_t begin, double noise_cycles);
// Returns the median distance of the points from the smoothed curve.
double scatter(std::span<const Point> raw, std::span<const Point> smoothed);
// Returns the index of the first point with at least `pages`; size() if there is none.
size_t index_of(std::span<const Point> curve, double pages);
// Returns the cycles at a page count, interpolated in the logarithm of the pages. The value is
// constant beyond the ends.
double cycles_at(std::span<const Point> curve, double pages);
// Returns every count up to 20, then counts that grow by `ratio`, each greater than the last. The
// last count is `to`.
std::vector<uint64_t> page_grid(uint64_t from, uint64_t to, double ratio);

} // namespace smalloc::calibrate
