// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// policy.cpp decides equalities: of two that are worth as much a superpage the one with the higher PMB comes first, then the one that
// comes first in the file.
#include "smalloc/agent/policy.h"
#include "smalloc/base/heap_sort.h"
#include "smalloc/base/units.h"

namespace smalloc {

uint64_t bar_thousandths(uint64_t claimed, uint64_t total) {
  if (total == 0)
    return claimed ? kWholePmb : 0;
  if (claimed >= total)
    return kWholePmb;
  return static_cast<uint64_t>(static_cast<unsigned __int128>(claimed) * kWholePmb / total);
}

uint64_t choose(Policy policy, Candidate *candidates, size_t count, uint64_t supply, uint64_t bar) {
  const bool same_input = policy == Policy::kSameInput;
  const auto before = [](const Candidate &a, const Candidate &b) {
    if (a.insists != b.insists)
      return a.insists;
    const auto worth_a =
        static_cast<unsigned __int128>(a.pmb_thousandths) * max_of<uint64_t>(b.superpages, 1);
    const auto worth_b =
        static_cast<unsigned __int128>(b.pmb_thousandths) * max_of<uint64_t>(a.superpages, 1);
    if (worth_a != worth_b)
      return worth_a > worth_b;
    if (a.pmb_thousandths != b.pmb_thousandths)
      return a.pmb_thousandths > b.pmb_thousandths;
    return a.entry < b.entry;
  };
  const auto may = [&](const Candidate &c) {
    return policy != Policy::kAllBase && policy != Policy::kNone &&
           (c.insists || c.pmb_thousandths >= bar);
  };
  uint64_t wanted = 0;
  for (size_t i = 0; i < count; i++)
    if (may(candidates[i]) && __builtin_add_overflow(wanted, candidates[i].superpages, &wanted))
      wanted = UINT64_MAX;
  if (same_input && wanted > supply) // where all fit, nobody has to go first
    heap_sort(candidates, count, before);
  uint64_t used = 0;
  for (size_t i = 0; i < count; i++) {
    Candidate &c = candidates[i];
    const bool fits = c.superpages <= supply - min_of(used, supply);
    c.taken = may(c) && (fits || !same_input);
    if (c.taken)
      used += c.superpages;
  }
  return used;
}

} // namespace smalloc
