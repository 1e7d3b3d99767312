// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// migration_load.cpp computes each node's memory load for the imbalance guard. The load is what the
// node's memory serves, as far as the samples distinguish that from what the caches serve.
#include "smalloc/numa/migration_policy.h"

#include <algorithm>

namespace smalloc::numa {

double MigrationPolicy::load_of(const PageCounts &page) const {
  return most_load_ > 0 ? std::min<double>(page.total(), most_load_) : page.total();
}

double MigrationPolicy::load_of(const Move &move) const {
  if (move.action == Action::kMovePage)
    return load_of(move.unit->page[move.page]);
  double sum = 0;
  for (const PageCounts &page : move.unit->page)
    sum += load_of(page);
  return sum;
}

/// Computes what each node's memory serves (load_) and what its processors request (issued_). A
/// sampler of time or of all accesses also sees accesses that the caches serve. A page of a few
/// variables that all threads read may have half of the samples and load no memory. So the load
/// counts a page for at most kMostOfMean times the mean.
void MigrationPolicy::sum_loads(Unit *const *units, size_t count) {
  constexpr double kMostOfMean = 8;
  std::fill(load_, load_ + kMaxNodes, 0.0);
  std::fill(issued_, issued_ + kMaxNodes, 0.0);
  const auto for_each_page = [&](auto visit) {
    for (size_t u = 0; u < count; u++)
      if (units[u]->touched)
        for (const PageCounts &page : units[u]->page)
          if (page.home() < topology_.nodes && page.total())
            visit(page);
  };
  double sum = 0, pages = 0;
  for_each_page([&](const PageCounts &page) {
    sum += page.total();
    pages++;
    for (unsigned n = 0; n < topology_.nodes; n++)
      issued_[n] += page.count(static_cast<uint8_t>(n));
  });
  most_load_ = options_.neighbours && pages > 0 ? kMostOfMean * sum / pages : 0;
  for_each_page([&](const PageCounts &page) { load_[page.home()] += load_of(page); });
}

double MigrationPolicy::fair_load() const {
  // Nodes compete for a memory's bandwidth only if several request much at the same time. If one
  // node alone is at work, its pages may all be near it.
  constexpr double kAtWork = 0.05; // share of the busiest node's requests
  const double busiest = *std::max_element(issued_, issued_ + topology_.nodes);
  double sum = 0;
  unsigned at_work = 0;
  for (unsigned n = 0; n < topology_.nodes; n++) {
    sum += load_[n];
    at_work += issued_[n] > 0 && issued_[n] >= kAtWork * busiest;
  }
  return sum / std::max(at_work, 1u);
}

double MigrationPolicy::mean_load() const {
  double sum = 0;
  unsigned with_memory = 0;
  for (unsigned n = 0; n < topology_.nodes; n++)
    if (topology_.has_memory(n)) {
      sum += load_[n];
      with_memory++;
    }
  return with_memory ? sum / with_memory : 0;
}

} // namespace smalloc::numa
