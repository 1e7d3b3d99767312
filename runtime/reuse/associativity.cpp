// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// associativity.cpp computes the binomial sum incrementally. It keeps the distribution of "pages in
// my set", cut off at the ways, and adds one page at a time. It stops when no access of that
// distance can hit.
#include "runtime/reuse/associativity.h"

#include <numeric>
#include <stdexcept>

namespace smalloc::reuse {

namespace {
constexpr double kNeverHits = 1e-9;
}

MissShare::MissShare(uint64_t entries, uint64_t ways)
    : entries_(entries), mine_(static_cast<double>(ways) / static_cast<double>(entries)) {
  if (entries == 0 || (ways != 0 && entries % ways != 0))
    throw std::invalid_argument("entries must be a positive multiple of the ways");
  if (ways != 0 && ways != entries) {
    in_my_set_.resize(ways);
    in_my_set_[0] = 1;
  }
}

double MissShare::at(uint64_t distance) {
  if (in_my_set_.empty())
    return distance >= entries_ ? 1 : 0;
  for (; distance_ < distance && hit_ > kNeverHits; distance_++) {
    for (size_t k = in_my_set_.size() - 1; k > 0; k--)
      in_my_set_[k] += mine_ * (in_my_set_[k - 1] - in_my_set_[k]);
    in_my_set_[0] *= 1 - mine_;
    hit_ = std::accumulate(in_my_set_.begin(), in_my_set_.end(), 0.0);
  }
  return hit_ > kNeverHits ? 1 - hit_ : 1;
}

} // namespace smalloc::reuse
