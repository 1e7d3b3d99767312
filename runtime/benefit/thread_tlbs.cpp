// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// thread_tlbs.cpp gives a new thread the core of the thread that ended last.
#include "runtime/benefit/thread_tlbs.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace smalloc::benefit {

void ThreadTlbs::accesses(uint64_t thread, uint64_t time_ns) {
  const auto [at, fresh] = spans_.try_emplace(thread, Span{time_ns, time_ns});
  if (!fresh)
    at->second.last_ns = std::max(at->second.last_ns, time_ns);
}

void ThreadTlbs::settle(uint64_t processors) {
  std::vector<std::pair<uint64_t, uint64_t>> order; // first access, thread
  for (const auto &[thread, span] : spans_)
    order.emplace_back(span.first_ns, thread);
  std::sort(order.begin(), order.end());
  const uint64_t most = processors ? std::min(processors, kMostTlbs) : kMostTlbs;
  std::vector<uint64_t> busy_until; // by TLB
  for (size_t i = 0; i < order.size(); i++) {
    Span &span = spans_.at(order[i].second);
    size_t tlb = SIZE_MAX;
    for (size_t t = 0; t < busy_until.size(); t++)
      if (busy_until[t] < span.first_ns && (tlb == SIZE_MAX || busy_until[t] > busy_until[tlb]))
        tlb = t;
    if (tlb == SIZE_MAX && busy_until.size() < most) {
      tlb = busy_until.size();
      busy_until.push_back(0);
    } else if (tlb == SIZE_MAX) {
      tlb = i % busy_until.size();
    }
    span.tlb = static_cast<uint32_t>(tlb);
    busy_until[tlb] = std::max(busy_until[tlb], span.last_ns);
  }
  count_ = static_cast<uint32_t>(std::max<size_t>(busy_until.size(), 1));
}

double ThreadTlbs::seconds() const {
  double seconds = 0;
  for (const auto &[thread, span] : spans_)
    seconds += static_cast<double>(span.last_ns - span.first_ns) / 1e9;
  return seconds;
}

} // namespace smalloc::benefit
