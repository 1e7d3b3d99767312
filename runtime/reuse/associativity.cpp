// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// associativity.cpp decides how the binomial sum is computed: by adding one page at a time to the
// distribution of "pages in my set", cut off at the ways, until no access of that distance can hit.
#include "runtime/reuse/associativity.h"

#include <numeric>
#include <stdexcept>
#include <vector>

namespace smalloc::reuse {

double misses_in_sets(const Histogram &distances, uint64_t entries, uint64_t ways) {
  if (entries == 0 || (ways != 0 && entries % ways != 0))
    throw std::invalid_argument("entries must be a positive multiple of the ways");
  if (ways == 0 || ways == entries)
    return distances.at_least(static_cast<double>(entries));
  constexpr double kNeverHits = 1e-9;
  const double mine = static_cast<double>(ways) / static_cast<double>(entries);
  std::vector<double> in_my_set(ways); // probability of 0, 1, ... of the pages so far
  in_my_set[0] = 1;
  double hit = 1, misses = distances.cold();
  uint64_t distance = 0;
  for (size_t i = 0; i < distances.bins(); i++) {
    const Histogram::Bin bin = distances.bin(i);
    if (bin.weight == 0)
      continue;
    const uint64_t middle = bin.low + (bin.high - bin.low - 1) / 2;
    for (; distance < middle && hit > kNeverHits; distance++) {
      for (size_t k = in_my_set.size() - 1; k > 0; k--)
        in_my_set[k] += mine * (in_my_set[k - 1] - in_my_set[k]);
      in_my_set[0] *= 1 - mine;
      hit = std::accumulate(in_my_set.begin(), in_my_set.end(), 0.0);
    }
    misses += bin.weight * (hit > kNeverHits ? 1 - hit : 1);
  }
  return misses;
}

} // namespace smalloc::reuse
