// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ranking.h selects the mappings worth superpages, once their misses are known. It has the
// significance test, the ranking by PMB (percentage of maximal benefit) and number of superpages,
// and the choice under a budget (Cascaval et al. 2005, sections 3.2, 3.3 and 5.3). Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smalloc::benefit {

/// Rule by which a program is left alone. kPaper: fewer than 100,000 TLB misses and fewer than
/// 1,000 page faults a second. kShare: translation and first touches take less than 1 % of its
/// time, or less than kLeastSeconds in all.
enum class SignificanceRule { kShare, kPaper };

struct Rates {
  double tlb_misses_per_second = 0, page_faults_per_second = 0;
  double translation_share = 0, first_touch_share = 0; ///< of the time of all threads
  double lost_seconds = 0;                             ///< in both, for one run
};
/// About the time that a process takes to start. A smaller saving is not noticed, whatever its
/// share of a short run.
inline constexpr double kLeastSeconds = 0.001;
bool significant(const Rates &rates, SignificanceRule rule);

/// A base mapping: one category on superpages, everything else on base pages.
struct Mapping {
  size_t category = 0; ///< number chosen by the caller
  uint64_t superpages = 0;
  double saved_cycles = 0;                            ///< compared with all base pages; negative: a
                                                      ///< loss
  double saved_cycles_low = 0, saved_cycles_high = 0; ///< 90 % interval
  double pmb_percent = 0;                             ///< 0 to 100; set by rank_mappings
  bool chosen = false;                                ///< set by choose
};

/// Sets pmb_percent and sorts: highest PMB first, then fewest superpages, then the category's
/// number. Without any saving all have PMB 0.
void rank_mappings(std::vector<Mapping> &mappings);

/// Marks the mappings chosen under a budget of superpages (UINT64_MAX: none). Returns the
/// superpages used. Only mappings of at least least_pmb_percent whose saving is above 0 even at the
/// low end are chosen. They are taken by their saving for each superpage, so that a large lukewarm
/// category does not crowd out a small hot one. same_input false: they are taken by PMB, since page
/// counts of another input mean little.
uint64_t choose(std::vector<Mapping> &mappings, uint64_t budget_superpages, bool same_input,
                double least_pmb_percent);

} // namespace smalloc::benefit
