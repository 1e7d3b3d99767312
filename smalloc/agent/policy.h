// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// policy.h decides which directives get superpages when there are fewer than all of them want (Cascaval et al. 2005, section 3.4):
//  - the profile's input again: the best option that fits, most benefit a superpage first, as `smalloc analyze` chooses
//    (runtime/benefit/ranking.h);
//  - another input: by PMB alone, since page counts of the profile mean little: the highest first, until what there is has been
//    given away; what the last of these finds is up to the budget and the kernel;
//  - other programs want superpages at the same time: only what shows at least the bar's PMB. The bar is the
//    share of all superpages that the others have claimed: 0 % alone, 100 % when everything is claimed.
// Pure functions.
#ifndef SMALLOC_AGENT_POLICY_H
#define SMALLOC_AGENT_POLICY_H

#include <stddef.h>
#include <stdint.h>

namespace smalloc {

enum class Policy : uint8_t {
  kNone,       ///< no directives
  kSameInput,  ///
  kOtherInput, ///
  kAllBase,    ///< the program has been slower with superpages than without
};

enum class DirectiveOutcome : uint8_t {
  kNothing,  ///< no line speaks of the site
  kBase,     ///< the program's malloc
  kTaken,    ///< superpages, at first touch where an object is big enough
  kDeferred, ///< would be worth it, and does not fit now: big objects on base pages of ours, which can be migrated
};

/// What wants superpages.
struct Candidate {
  uint64_t pmb_thousandths; ///< what validation has left of it
  uint64_t superpages;
  uint32_t entry; ///< the caller's number
  bool insists;   ///< written by hand, without a PMB: passes every bar
  bool taken;     ///< the answer
};

inline constexpr uint64_t kWholePmb = 100000; ///< 100 %, in thousandths of a percent

/// claimed: by others; total: what all programs can have together. 0 of 0 is no bar.
uint64_t bar_thousandths(uint64_t claimed, uint64_t total);

/// Sorts the candidates into the order in which they are asked, where that matters, and sets `taken`. Returns the superpages of those that are.
uint64_t choose(Policy policy, Candidate *candidates, size_t count, uint64_t supply, uint64_t bar);

} // namespace smalloc
#endif
