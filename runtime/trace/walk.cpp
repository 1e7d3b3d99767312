// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// walk.cpp repeats a page after 16 other pages, a quarter of the smallest TLB that is studied. So a
// reuse distance is off by at most this number.
#include "runtime/trace/walk.h"

#include <algorithm>

namespace smalloc::trace {
namespace {

constexpr uint64_t kPage = 4096, kPagesBetween = 16;

uint64_t magnitude(int64_t stride) {
  return stride < 0 ? 0 - static_cast<uint64_t>(stride) : static_cast<uint64_t>(stride);
}

// Returns the iterations until the address is on another page.
uint64_t steps_on_page(uint64_t address, int64_t stride) {
  const uint64_t step = magnitude(stride), offset = address % kPage;
  if (step == 0)
    return UINT64_MAX;
  if (step >= kPage)
    return 1;
  const uint64_t room = stride > 0 ? kPage - offset : offset + 1;
  return (room + step - 1) / step;
}

} // namespace

WalkPages::WalkPages(uint64_t iterations, std::vector<WalkReference> references, uint64_t threshold)
    : iterations_(iterations), threshold_(threshold) {
  double pages_an_iteration = 0;
  for (const WalkReference &r : references) {
    pages_an_iteration += walk_pages(r.stride);
    cursors_.push_back({r, 0});
  }
  plausible_ = !references.empty() && references.size() <= kMostWalkReferences &&
               pages_an_iteration * static_cast<double>(iterations) <= kMostWalkPages;
  refresh_ = pages_an_iteration > 0
                 ? std::max<uint64_t>(1, static_cast<uint64_t>(kPagesBetween / pages_an_iteration))
                 : UINT64_MAX;
}

bool WalkPages::take(std::vector<AccessRun> &runs, size_t most) {
  const size_t before = runs.size();
  while (runs.size() - before < most) {
    const auto first =
        std::min_element(cursors_.begin(), cursors_.end(),
                         [](const Cursor &a, const Cursor &b) { return a.next < b.next; });
    if (first == cursors_.end() || first->next >= iterations_)
      break;
    const uint64_t i = first->next;
    const uint64_t address =
        first->reference.address + static_cast<uint64_t>(first->reference.stride) * i;
    const uint64_t steps = std::min(steps_on_page(address, first->reference.stride), refresh_);
    first->next = steps < iterations_ - i ? i + steps : iterations_;
    if (region_hash(address) < threshold_)
      runs.push_back(
          {address >> kGrainShift << kGrainShift, first->next - i - 1, first->reference.write});
  }
  return runs.size() > before;
}

} // namespace smalloc::trace
