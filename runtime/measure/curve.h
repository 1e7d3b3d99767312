// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// curve.h decides where a latency curve has a knee. A TLB with E entries answers up to E pages at
// one price and more at the next level's: fully associative and least recently used at once, set
// associative over E to E (1 + 1/ways), hashed or nested ones slower still. The onset of the rise
// is what a program sees as the reach, so that is what is looked for.
//
// Method (Manegold's Calibrator looks for the same steps, but on exact data): a running median of
// three removes single outliers in either direction; isotonic regression (pool adjacent violators,
// Ayer et al. 1955) uses that more pages never cost less; a knee is the first point from which the
// curve rises by at least 40 % and 1.5 cycles while the pages grow by 35 %. Walks that get slowly
// dearer (caches fill with page-table entries: some cycles a doubling) stay below that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace smalloc::calibrate {

struct Point {
  uint64_t pages = 0;
  double cycles = 0; // of translation: the chase less its dense baseline
};

// Pages that one cell of a knee spans: a 4-way level is full at 1.25 E, and the grid is coarse.
constexpr double kKneeWindow = 1.35;
// What separates a knee from a walk that gets slowly dearer; a second-level hit costs 3 cycles at
// least (Neoverse N1).
constexpr double kKneeMinRise = 0.4, kKneeMinCycles = 1.5;

struct Knee {
  size_t last_flat = 0;   // index of the last point before the rise
  size_t first_risen = 0; // index of the first point after it began
  double before = 0;      // cycles before the rise
  double noise = 0;       // scatter of the points
  double rise = 0;        // by so much within the window
  // What a point must exceed to be beyond the knee.
  double threshold() const;
};

double median(std::vector<double> values);
// Element i becomes the median of itself and its neighbours; the ends stay.
std::vector<double> median_of_three(std::span<const double> values);
// The nondecreasing sequence nearest in least squares. O(n).
std::vector<double> isotonic(std::span<const double> values);
std::vector<Point> smooth(std::span<const Point> curve);

// The first knee at or after index `begin` of a smoothed curve (ascending in pages); `noise_cycles`
// is the scatter of its points.
std::optional<Knee> find_knee(std::span<const Point> curve, size_t begin, double noise_cycles);
// Median distance of the points from the smoothed curve.
double scatter(std::span<const Point> raw, std::span<const Point> smoothed);
// Index of the first point whose pages are at least `pages`; size() when there is none.
size_t index_of(std::span<const Point> curve, double pages);
// Cycles at a page count, interpolated in the logarithm of the pages; constant beyond the ends.
double cycles_at(std::span<const Point> curve, double pages);
// Every count up to 20, then by `ratio`, each greater than the last; `to` is the last.
std::vector<uint64_t> page_grid(uint64_t from, uint64_t to, double ratio);

} // namespace smalloc::calibrate
