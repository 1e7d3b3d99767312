// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// streams.h generates the page streams on which every engine is tested. Its quadratic oracle gives
// the right result: it looks back over the stream itself and counts distinct pages.
#ifndef TESTS_UNIT_REUSE_STREAMS_H
#define TESTS_UNIT_REUSE_STREAMS_H

#include "runtime/reuse/page_index.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace smalloc::reuse {

using Stream = std::vector<uint64_t>;
constexpr uint64_t kInfinite = UINT64_MAX;

inline std::vector<uint64_t> oracle_distances(const Stream &stream) {
  std::vector<uint64_t> distances;
  for (size_t i = 0; i < stream.size(); i++) {
    std::set<uint64_t> between;
    size_t j = i;
    while (j > 0 && stream[j - 1] != stream[i])
      between.insert(stream[--j]);
    distances.push_back(j == 0 ? kInfinite : between.size());
  }
  return distances;
}

inline uint64_t oracle_misses(const std::vector<uint64_t> &distances, uint64_t capacity) {
  return static_cast<uint64_t>(
      std::count_if(distances.begin(), distances.end(), [&](uint64_t d) { return d >= capacity; }));
}

inline Stream letters(const std::string &text) { return {text.begin(), text.end()}; }

inline Stream cycle(uint64_t pages, size_t length) {
  Stream s;
  for (size_t i = 0; i < length; i++)
    s.push_back(1000 + i % pages);
  return s;
}

inline Stream uniform(uint64_t pages, size_t length, unsigned seed) {
  std::mt19937_64 random(seed);
  Stream s;
  for (size_t i = 0; i < length; i++)
    s.push_back(random() % pages);
  return s;
}

/// Returns page k of `pages` with probability proportional to 1 / k^exponent. The pages are
/// scattered over a range that is `sparsity` times as large.
inline Stream zipf(uint64_t pages, double exponent, size_t length, unsigned seed,
                   uint64_t sparsity = 1) {
  std::vector<double> sums;
  double sum = 0;
  for (uint64_t k = 1; k <= pages; k++)
    sums.push_back(sum += std::pow(static_cast<double>(k), -exponent));
  std::mt19937_64 random(seed);
  std::vector<uint64_t> place(pages);
  for (uint64_t k = 0; k < pages; k++)
    place[k] = k * sparsity;
  std::shuffle(place.begin(), place.end(), random);
  std::uniform_real_distribution<double> pick(0, sum);
  Stream s;
  for (size_t i = 0; i < length; i++) {
    const auto at = std::lower_bound(sums.begin(), sums.end(), pick(random));
    s.push_back(place[static_cast<size_t>(
        std::min<ptrdiff_t>(at - sums.begin(), static_cast<ptrdiff_t>(pages) - 1))]);
  }
  return s;
}

/// Returns what loops do: runs of the same page, walks up and down, jumps.
inline Stream mixed(size_t length, unsigned seed) {
  std::mt19937_64 random(seed);
  Stream s;
  uint64_t page = 500;
  while (s.size() < length) {
    const uint64_t kind = random() % 4, n = random() % 60;
    if (kind == 0)
      page = random() % 3000;
    for (uint64_t i = 0; i < n && s.size() < length; i++) {
      page += kind == 1 ? 1 : kind == 2 ? static_cast<uint64_t>(-1) : 0;
      s.push_back(page + (uint64_t{1} << 40));
    }
  }
  return s;
}

} // namespace smalloc::reuse
#endif
