// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// policy.cpp sorts the candidates. At equal worth per superpage the higher PMB comes first, then
// the earlier line of the file. At equal PMB the higher worth per superpage comes first.
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

namespace {

/// True if `a` precedes `b`: most benefit per superpage first.
bool is_worth_more(const Candidate &a, const Candidate &b) {
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
}

uint64_t sum_of(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/// Chooses by PMB alone until the supply is used up. It does not sort ten thousand lines for that:
/// it takes whole bands of PMB from the top, and sorts only the band in which the supply ends.
uint64_t choose_by_pmb(Candidate *candidates, size_t count, uint64_t supply, uint64_t bar) {
  constexpr size_t kBands = 256;
  const auto band_of = [](const Candidate &c) {
    return static_cast<size_t>(min_of(c.pmb_thousandths, kWholePmb) * (kBands - 1) / kWholePmb);
  };
  uint64_t wanted[kBands] = {}, used = 0;
  for (size_t i = 0; i < count; i++) {
    Candidate &c = candidates[i];
    c.taken = c.insists;
    if (c.insists)
      used = sum_of(used, c.superpages);
    else if (c.pmb_thousandths >= bar)
      wanted[band_of(c)] = sum_of(wanted[band_of(c)], c.superpages);
  }
  size_t last = kBands; // bands from this one on fit together
  while (last > 0 && sum_of(used, wanted[last - 1]) <= supply)
    used += wanted[--last];
  size_t split = 0; // candidates of the band below, moved to the front
  for (size_t i = 0; i < count; i++) {
    Candidate &c = candidates[i];
    if (c.insists || c.pmb_thousandths < bar || band_of(c) + 1 < last)
      continue;
    if (band_of(c) >= last) {
      c.taken = true;
      continue;
    }
    const Candidate held = candidates[split];
    candidates[split++] = c;
    candidates[i] = held;
  }
  heap_sort(candidates, split, [](const Candidate &a, const Candidate &b) {
    return a.pmb_thousandths != b.pmb_thousandths ? a.pmb_thousandths > b.pmb_thousandths
                                                  : is_worth_more(a, b);
  });
  for (size_t i = 0; i < split && used < supply; i++) {
    candidates[i].taken = true;
    used = sum_of(used, candidates[i].superpages);
  }
  return used;
}

} // namespace

uint64_t choose(Policy policy, Candidate *candidates, size_t count, uint64_t supply, uint64_t bar) {
  if (policy == Policy::kOtherInput)
    return choose_by_pmb(candidates, count, supply, bar);
  const auto may = [&](const Candidate &c) {
    return policy == Policy::kSameInput && (c.insists || c.pmb_thousandths >= bar);
  };
  uint64_t wanted = 0;
  for (size_t i = 0; i < count; i++)
    if (may(candidates[i]))
      wanted = sum_of(wanted, candidates[i].superpages);
  if (wanted > supply) // if all fit, the order does not matter
    heap_sort(candidates, count, is_worth_more);
  uint64_t used = 0;
  for (size_t i = 0; i < count; i++) {
    Candidate &c = candidates[i];
    c.taken = may(c) && c.superpages <= supply - used;
    if (c.taken)
      used += c.superpages;
  }
  return used;
}

} // namespace smalloc
