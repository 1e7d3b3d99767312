// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// clusters.cpp breaks ties. Of equally similar pairs the one with the lowest numbers is joined
// first, and of equal gaps the first one counts. So doubtful sites stay apart.
#include "runtime/benefit/clusters.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace smalloc::benefit {

void Affinity::end_window() {
  for (size_t i = 0; i < present_.size(); i++) {
    const size_t a = present_[i];
    all_[a] += in_window_[a];
    for (size_t j = 0; j < i; j++) {
      const size_t b = present_[j];
      together_[std::min(a, b) * members_ + std::max(a, b)] +=
          std::sqrt(in_window_[a] * in_window_[b]);
    }
  }
  for (const size_t member : present_)
    in_window_[member] = 0;
  present_.clear();
}

double Affinity::of(size_t a, size_t b) const {
  if (a == b)
    return 1;
  const double all = std::sqrt(all_[a] * all_[b]);
  return all > 0 ? std::min(together_[std::min(a, b) * members_ + std::max(a, b)] / all, 1.0) : 0;
}

std::vector<size_t> clusters_of(const Affinity &affinity, const std::vector<double> &bytes,
                                const std::vector<int> &apart) {
  const size_t n = affinity.members();
  std::vector<double> alike(n * n); // similarities of clusters, by their first members
  const auto often = [&](size_t m) { return affinity.accesses(m) / std::max(bytes[m], 1.0); };
  for (size_t a = 0; a < n; a++)
    for (size_t b = 0; b < n; b++) {
      const double low = std::min(often(a), often(b)), high = std::max(often(a), often(b));
      alike[a * n + b] =
          apart[a] == apart[b] && high > 0 ? affinity.of(a, b) * std::sqrt(low / high) : 0;
    }
  std::vector<size_t> size(n, 1); // of each cluster; 0: joined to another
  struct Join {
    size_t into, other;
    double likeness;
  };
  std::vector<Join> joins;
  while (joins.size() + 1 < n) {
    Join best = {0, 0, -1};
    for (size_t a = 0; a < n; a++)
      for (size_t b = a + 1; b < n && size[a]; b++)
        if (size[b] && alike[a * n + b] > best.likeness)
          best = {a, b, alike[a * n + b]};
    joins.push_back(best);
    const auto into = static_cast<double>(size[best.into]),
               other = static_cast<double>(size[best.other]);
    for (size_t c = 0; c < n; c++) {
      const double mean =
          (alike[best.into * n + c] * into + alike[best.other * n + c] * other) / (into + other);
      alike[best.into * n + c] = alike[c * n + best.into] = mean;
    }
    size[best.into] += size[best.other];
    size[best.other] = 0;
  }
  size_t kept = 0; // joins before the widest gap
  double before = 1, widest = -1;
  for (size_t i = 0; i <= joins.size(); i++) {
    const double next = i < joins.size() ? joins[i].likeness : 0;
    if (before - next > widest) {
      widest = before - next;
      kept = i;
    }
    before = next;
  }
  std::vector<size_t> first(n); // first member of each member's cluster
  for (size_t m = 0; m < n; m++)
    first[m] = m;
  for (size_t i = 0; i < kept; i++) {
    const size_t from = first[joins[i].other], to = first[joins[i].into];
    std::replace(first.begin(), first.end(), from, to);
  }
  std::map<size_t, size_t> numbers;
  std::vector<size_t> clusters;
  for (size_t m = 0; m < n; m++)
    clusters.push_back(numbers.try_emplace(first[m], numbers.size()).first->second);
  return clusters;
}

} // namespace smalloc::benefit
