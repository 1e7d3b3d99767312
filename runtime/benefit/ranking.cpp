// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ranking.cpp applies the thresholds of the significance test, and takes the mappings of a budget
// in the order of their saving.
#include "runtime/benefit/ranking.h"

#include <algorithm>
#include <numeric>

namespace smalloc::benefit {
namespace {
constexpr double kPaperTlbMissesPerSecond = 100000, kPaperFaultsPerSecond = 1000;
constexpr double kLeastShare = 0.01;
} // namespace

bool significant(const Rates &rates, SignificanceRule rule) {
  if (rule == SignificanceRule::kPaper)
    return rates.tlb_misses_per_second >= kPaperTlbMissesPerSecond ||
           rates.page_faults_per_second >= kPaperFaultsPerSecond;
  return rates.translation_share + rates.first_touch_share >= kLeastShare &&
         rates.lost_seconds >= kLeastSeconds;
}

void rank_mappings(std::vector<Mapping> &mappings) {
  double most = 0;
  for (const Mapping &m : mappings)
    most = std::max(most, m.saved_cycles);
  for (Mapping &m : mappings)
    m.pmb_percent = most > 0 ? 100 * std::max(m.saved_cycles, 0.0) / most : 0;
  std::sort(mappings.begin(), mappings.end(), [](const Mapping &a, const Mapping &b) {
    if (a.pmb_percent != b.pmb_percent)
      return a.pmb_percent > b.pmb_percent;
    if (a.superpages != b.superpages)
      return a.superpages < b.superpages;
    return a.category < b.category;
  });
}

uint64_t choose(std::vector<Mapping> &mappings, uint64_t budget_superpages, bool same_input,
                double least_pmb_percent) {
  std::vector<size_t> order(mappings.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto worth = [&](size_t i) {
    const Mapping &m = mappings[i];
    return same_input ? m.saved_cycles / static_cast<double>(std::max<uint64_t>(m.superpages, 1))
                      : m.pmb_percent;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return worth(a) > worth(b); });
  uint64_t used = 0;
  for (size_t i : order) {
    Mapping &m = mappings[i];
    m.chosen = m.pmb_percent >= least_pmb_percent && m.saved_cycles_low > 0 &&
               m.superpages <= budget_superpages - used;
    if (m.chosen)
      used += m.superpages;
  }
  return used;
}

} // namespace smalloc::benefit
