// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// curve.cpp smooths measured points into a curve and finds its knees.
#include "runtime/measure/curve.h"

#include <algorithm>
#include <cmath>

namespace smalloc::calibrate {

double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(middle), values.end());
  const double upper = values[middle];
  if (values.size() % 2)
    return upper;
  return (upper +
          *std::max_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(middle))) /
         2;
}

std::vector<double> median_of_three(std::span<const double> values) {
  std::vector<double> result(values.begin(), values.end());
  for (size_t i = 1; i + 1 < values.size(); i++)
    result[i] = std::max(std::min(values[i - 1], values[i]),
                         std::min(std::max(values[i - 1], values[i]), values[i + 1]));
  return result;
}

std::vector<double> isotonic(std::span<const double> values) {
  struct Block {
    double sum;
    size_t count;
    double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Block> blocks;
  for (double value : values) {
    blocks.push_back({value, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() >= blocks.back().mean()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back().sum += last.sum;
      blocks.back().count += last.count;
    }
  }
  std::vector<double> result;
  for (const Block &block : blocks)
    result.insert(result.end(), block.count, block.mean());
  return result;
}

std::vector<Point> smooth(std::span<const Point> curve) {
  std::vector<double> cycles;
  for (const Point &point : curve)
    cycles.push_back(point.cycles);
  cycles = isotonic(median_of_three(cycles));
  std::vector<Point> result(curve.begin(), curve.end());
  for (size_t i = 0; i < result.size(); i++)
    result[i].cycles = cycles[i];
  return result;
}

double scatter(std::span<const Point> raw, std::span<const Point> smoothed) {
  std::vector<double> distances;
  for (size_t i = 0; i < raw.size(); i++)
    distances.push_back(std::fabs(raw[i].cycles - smoothed[i].cycles));
  return median(std::move(distances));
}

size_t index_of(std::span<const Point> curve, double pages) {
  size_t i = 0;
  while (i < curve.size() && static_cast<double>(curve[i].pages) < pages)
    i++;
  return i;
}

double cycles_at(std::span<const Point> curve, double pages) {
  if (curve.empty())
    return 0;
  const size_t i = index_of(curve, pages);
  if (i == 0)
    return curve.front().cycles;
  if (i == curve.size())
    return curve.back().cycles;
  const double low = std::log(static_cast<double>(curve[i - 1].pages)),
               high = std::log(static_cast<double>(curve[i].pages));
  const double at = (std::log(pages) - low) / (high - low);
  return curve[i - 1].cycles + at * (curve[i].cycles - curve[i - 1].cycles);
}

double Knee::threshold() const {
  // 5 % of the rise marks the onset; 0.15 cycles is the resolution of short chases.
  return before + std::max({0.15, 0.05 * rise, 3 * noise});
}

std::optional<Knee> find_knee(std::span<const Point> curve, size_t begin, double noise_cycles) {
  const auto window_end = [&](size_t i) {
    const size_t end = index_of(curve, kKneeWindow * static_cast<double>(curve[i].pages));
    return std::min(end, curve.size() - 1);
  };
  for (size_t i = begin; i + 1 < curve.size(); i++) {
    const size_t ahead = window_end(i);
    const double rise = curve[ahead].cycles - curve[i].cycles;
    if (rise < std::max({kKneeMinCycles, kKneeMinRise * curve[i].cycles, 4 * noise_cycles}))
      continue;
    // The level before the rise is the median of up to five points up to here.
    std::vector<double> flat;
    for (size_t k = i + 1 - std::min<size_t>(i + 1 - begin, 5); k <= i; k++)
      flat.push_back(curve[k].cycles);
    Knee knee{i, i + 1, median(std::move(flat)), noise_cycles, rise};
    // The window may hold only the beginning of the rise: look again from its begin.
    for (int pass = 0; pass < 3; pass++) {
      size_t last = i;
      while (last + 1 < curve.size() && curve[last + 1].cycles <= knee.threshold())
        last++;
      if (last + 1 == curve.size())
        return std::nullopt;
      knee.last_flat = last;
      knee.first_risen = last + 1;
      knee.rise = curve[window_end(last)].cycles - knee.before;
    }
    return knee;
  }
  return std::nullopt;
}

std::vector<uint64_t> page_grid(uint64_t from, uint64_t to, double ratio) {
  std::vector<uint64_t> grid;
  for (uint64_t pages = from; pages < to;
       pages = pages < 20 ? pages + 1
                          : std::max(pages + 1, static_cast<uint64_t>(std::lround(
                                                    static_cast<double>(pages) * ratio))))
    grid.push_back(pages);
  grid.push_back(to);
  return grid;
}

} // namespace smalloc::calibrate
