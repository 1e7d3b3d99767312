// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ranking.h decides which mappings are worth superpages, once their misses are known: the significance test,
// the ranking by PMB (percentage of maximal benefit) and number of superpages, and the choice under a
// budget (Cascaval et al. 2005, sections 3.2, 3.3 and 5.3). Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smalloc::benefit {

/// paper: a program is left alone when it has fewer than 100,000 TLB misses a second and fewer than 1,000 page
/// faults a second. share: when translation and first touches take less than 1 % of its time, or less than kLeastSeconds in all.
enum class SignificanceRule { kShare, kPaper };

struct Rates {
  double tlb_misses_per_second = 0, page_faults_per_second = 0;
  double translation_share = 0, first_touch_share = 0; ///< of the time of all threads
  double lost_seconds = 0;                             ///< in both, of a run
};
/// What a process takes to start: nobody sees less, whatever its share of a short run.
inline constexpr double kLeastSeconds = 0.001;
bool significant(const Rates &rates, SignificanceRule rule);

/// A base mapping: one category on superpages, everything else on base pages.
struct Mapping {
  size_t category = 0; ///< the caller's number
  uint64_t superpages = 0;
  double saved_cycles = 0;                            ///< against all base; negative: a loss
  double saved_cycles_low = 0, saved_cycles_high = 0; ///< 90 % interval
  double pmb_percent = 0;                             ///< 0 to 100, by rank_mappings
  bool chosen = false;                                ///< by choose
};

/// Sets pmb_percent and sorts: highest PMB first, then fewest superpages, then the category's number. Without
/// any saving all have PMB 0.
void rank_mappings(std::vector<Mapping> &mappings);

/// Marks what is taken under a budget of superpages (UINT64_MAX: none). Only mappings of at least
/// least_pmb_percent whose saving is above 0 even at the low end. In the order of saving a superpage, so that a
/// small hot category is not crowded out by a large lukewarm one; same_input false: in the order of PMB,
/// since page counts of another input mean little. Returns the superpages used.
uint64_t choose(std::vector<Mapping> &mappings, uint64_t budget_superpages, bool same_input,
                double least_pmb_percent);

/// Cascaval et al., 5.3.2: mean distance between two PMB rankings, by category; in percent.
double ranking_error(const std::vector<Mapping> &predicted, const std::vector<Mapping> &measured);

} // namespace smalloc::benefit
