// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// level_search.cpp runs the chases of one round and finds the levels and their ways.
#include "runtime/measure/level_search.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace smalloc::calibrate {
namespace {

constexpr uint64_t kLineBytes = 64;
// Fewest pages of the search: the smallest first level known has 16 entries (A64FX), and a plateau
// needs points before it.
constexpr uint64_t kFewestPages = 8;
// Strides up to 2^6 pages distinguish 64 sets; no first-level data TLB has more.
constexpr unsigned kMaxSetBits = 6;

// Returns the cycles per load that `lines` packed lines, visited in random order, spend on their
// own TLB misses. A page stays in a level with the probability entries / pages. (One line per page
// in a fixed order is harder: least recently used then misses always.)
double own_cycles(const LatencySource &source, uint64_t lines, std::span<const FoundLevel> levels) {
  const double pages =
      static_cast<double>(lines * kLineBytes) / static_cast<double>(source.base_page_bytes());
  double cycles = 0, paid = 0;
  for (const FoundLevel &level : levels) {
    cycles += std::max(0.0, 1 - level.entries / pages) * (level.cycles_beyond - paid);
    paid = level.cycles_beyond;
  }
  return cycles;
}

// Repeats a disturbed chase (its repeats differ) up to three times; returns the calmest.
std::optional<Latency> calm_chase(LatencySource &source, const Chase &chase) {
  std::optional<Latency> calmest;
  for (unsigned attempt = 0; attempt < 3; attempt++) {
    const auto latency = source.chase(chase);
    if (!latency)
      break;
    if (!calmest || latency->noise_ratio < calmest->noise_ratio)
      calmest = latency;
    if (calmest->noise_ratio <= kNoisyRatio)
      break;
  }
  return calmest;
}

// Returns the median of three chases, so that one disturbed chase has no effect.
std::optional<double> steady_cycles(LatencySource &source, const Chase &chase,
                                    std::span<const FoundLevel> levels,
                                    std::vector<double> &noise) {
  std::vector<double> cycles;
  for (unsigned i = 0; i < 3; i++)
    if (const auto t = translation_cycles(source, chase, levels, noise))
      cycles.push_back(*t);
  return cycles.empty() ? std::nullopt : std::optional(median(std::move(cycles)));
}

// Bisects between a page count that fits and one that does not. Large levels have no sharp limit,
// so a resolution of 1/256 of the entries is enough.
uint64_t refine(uint64_t fits, uint64_t exceeds,
                const std::function<bool(uint64_t pages)> &is_beyond) {
  const uint64_t low = fits, high = exceeds;
  for (unsigned attempt = 0; attempt < 3; attempt++) {
    fits = low;
    exceeds = high;
    while (exceeds - fits > std::max<uint64_t>(1, fits / 256)) {
      const uint64_t middle = fits + (exceeds - fits) / 2;
      (is_beyond(middle) ? exceeds : fits) = middle;
    }
    // One wrong answer misleads a bisection, so both ends are measured again.
    if ((fits == low || !is_beyond(fits)) && (exceeds == high || is_beyond(exceeds)))
      break;
  }
  return fits;
}

} // namespace

std::optional<double> translation_cycles(LatencySource &source, Chase chase,
                                         std::span<const FoundLevel> levels,
                                         std::vector<double> &noise) {
  const auto spread = calm_chase(source, chase);
  Chase dense = chase;
  dense.dense = true;
  const auto packed = calm_chase(source, dense);
  if (!spread || !packed)
    return std::nullopt;
  noise.push_back(std::max(spread->noise_ratio, packed->noise_ratio));
  return spread->cycles - packed->cycles + own_cycles(source, chase.lines, levels);
}

LevelSearch search_levels(LatencySource &source, Chase form, uint64_t most_pages, double grid_ratio,
                          std::vector<double> &noise) {
  LevelSearch result;
  // Some TLBs have 4 entries for pages of 1 GiB, and few machines have many such pages.
  const uint64_t fewest = form.page_bytes >= uint64_t{1} << 30 ? 2 : kFewestPages;
  if (most_pages <= kFewestPages)
    return result;
  std::vector<Point> raw;
  for (uint64_t pages : page_grid(fewest, most_pages, grid_ratio)) {
    form.lines = pages;
    if (const auto cycles = translation_cycles(source, form, {}, noise))
      raw.push_back({pages, *cycles});
  }
  if (raw.size() < 4)
    return result;
  result.curve = smooth(raw);
  size_t begin = 0;
  for (unsigned level = 0; level < 2; level++) {
    const auto knee = find_knee(result.curve, begin, scatter(raw, result.curve));
    if (!knee)
      break;
    const auto is_beyond = [&](uint64_t pages) {
      form.lines = pages;
      return steady_cycles(source, form, result.levels, noise).value_or(0) > knee->threshold();
    };
    const uint64_t entries = refine(result.curve[knee->last_flat].pages,
                                    result.curve[knee->first_risen].pages, is_beyond);
    // Measure beyond the ramp but before the steps of the data caches: up to three times the
    // capacity.
    const auto capacity = static_cast<double>(entries);
    begin = std::min(index_of(result.curve, kKneeWindow * capacity), result.curve.size() - 1);
    std::vector<double> beyond;
    for (size_t i = begin;
         i < result.curve.size() &&
         (i == begin || static_cast<double>(result.curve[i].pages) < 3 * capacity);
         i++)
      beyond.push_back(result.curve[i].cycles);
    result.levels.push_back({capacity, median(std::move(beyond))});
    // The first level is now known, so correct the curve for the baseline's own misses.
    if (level == 0) {
      for (Point &point : raw)
        point.cycles += own_cycles(source, point.pages, result.levels);
      result.curve = smooth(raw);
    }
  }
  // The plateau between two levels ends where the second begins to miss.
  if (result.levels.size() == 2) {
    std::vector<double> plateau;
    for (const Point &point : result.curve) {
      const auto pages = static_cast<double>(point.pages);
      if (pages >= kKneeWindow * result.levels[0].entries &&
          pages <= std::min(3 * result.levels[0].entries, 0.8 * result.levels[1].entries))
        plateau.push_back(point.cycles);
    }
    if (!plateau.empty())
      result.levels[0].cycles_beyond = median(std::move(plateau));
  }
  return result;
}

std::optional<unsigned> find_ways(LatencySource &source, uint64_t page_bytes, double entries,
                                  double cycles_beyond, std::vector<double> &noise) {
  const double threshold = std::max(0.15, 0.05 * cycles_beyond);
  const auto fits = [&](uint64_t pages, unsigned bits) {
    const uint64_t stride = page_bytes << bits;
    if (pages > source.max_lines(page_bytes, stride))
      return std::optional<bool>();
    const auto cycles = steady_cycles(source, {page_bytes, stride, pages}, {}, noise);
    return cycles ? std::optional(*cycles <= threshold) : std::nullopt;
  };
  // Two entries less than were found, because the estimate may be off by two.
  const auto almost_all = static_cast<uint64_t>(std::max(entries - 2, 2.0));
  unsigned bits = 0;
  for (bits = 1; bits <= kMaxSetBits; bits++) {
    const auto all_fit = fits(almost_all, bits);
    if (!all_fit)
      return std::nullopt;
    if (!*all_fit)
      break;
  }
  if (bits > kMaxSetBits)
    return 0;
  // Doubling the stride halves the sets in use, until one set is left: its entries are the ways.
  uint64_t previous = 0;
  for (; bits <= kMaxSetBits + 1; bits++) {
    uint64_t low = 1, high = almost_all;
    while (high - low > 1) {
      const uint64_t middle = low + (high - low) / 2;
      const auto fit = fits(middle, bits);
      if (!fit)
        return std::nullopt;
      (*fit ? low : high) = middle;
    }
    if (low == previous) {
      const double sets = entries / static_cast<double>(low);
      const double whole = std::exp2(std::round(std::log2(sets)));
      // Sets are a power of two; the entries may be off by two.
      return std::fabs(whole * static_cast<double>(low) - entries) <= 2 + 0.03 * entries
                 ? std::optional(static_cast<unsigned>(low))
                 : std::nullopt;
    }
    previous = low;
  }
  return std::nullopt;
}

} // namespace smalloc::calibrate
