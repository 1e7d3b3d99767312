// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// policy.h chooses the directives that get superpages if there are fewer than all of them want
// (Cascaval et al. 2005, section 3.4):
//  - the profile's input again: the best set that fits, most benefit per superpage first, as
//    `smalloc analyze` chooses (runtime/benefit/ranking.h);
//  - another input: by PMB alone, highest first, until the supply is used up, since the profile's
//    page counts mean little. The last of these may exceed the supply; the budget and the kernel
//    then limit it;
//  - other programs want superpages at the same time: only candidates whose PMB reaches the bar.
//    The bar is the share of all superpages that the others have claimed: 0 % alone, 100 % if
//    everything is claimed.
// The functions are pure.
#ifndef SMALLOC_AGENT_POLICY_H
#define SMALLOC_AGENT_POLICY_H

#include <stddef.h>
#include <stdint.h>

namespace smalloc {

enum class Policy : uint8_t {
  kNone,       ///< no directives
  kSameInput,  ///< the profile's input
  kOtherInput, ///< another input
  kAllBase,    ///< the program has been slower with superpages than without
};

enum class DirectiveOutcome : uint8_t {
  kNothing,  ///< no line for the site
  kBase,     ///< the program's malloc
  kTaken,    ///< superpages, at first touch if an object is big enough
  kDeferred, ///< worth it, but does not fit now: big objects on libsmalloc's base pages, which can
             ///< be migrated
};

/// A line that wants superpages.
struct Candidate {
  uint64_t pmb_thousandths; ///< after validation
  uint64_t superpages;
  uint32_t entry; ///< the caller's number
  bool insists;   ///< written by hand, without a PMB: passes every bar
  bool taken;     ///< the result
};

inline constexpr uint64_t kWholePmb = 100000; ///< 100 %, in thousandths of a percent

/// Returns the bar. `claimed`: superpages claimed by others; `total`: of all programs together. 0
/// of 0 is no bar.
uint64_t bar_thousandths(uint64_t claimed, uint64_t total);

/// Sets `taken` in each candidate; sorts them if their order matters. Returns the number of
/// superpages of those taken.
uint64_t choose(Policy policy, Candidate *candidates, size_t count, uint64_t supply, uint64_t bar);

} // namespace smalloc
#endif
