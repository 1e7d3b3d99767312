// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// thread_tlbs.h decides which threads of a recording share a TLB: a core has one of its own, and threads that run at once run on several.
// One that begins when another has ended takes its core over, with what is in its TLB. With more threads at once than there
// were processors they take turns on these.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace smalloc::benefit {

class ThreadTlbs {
public:
  /// A thread accesses data at this time. In any order of threads, times of each in theirs.
  void accesses(uint64_t thread, uint64_t time_ns);
  /// After the last: processors of the recording, 0: not known; more than kMostTlbs count as so many. O(threads * TLBs).
  void settle(uint64_t processors);

  /// Numbers from 0; of a thread that accessed nothing 0.
  uint32_t of(uint64_t thread) const {
    const auto at = spans_.find(thread);
    return at == spans_.end() ? 0 : at->second.tlb;
  }
  uint32_t count() const { return count_; } ///< 1 at least
  /// From each thread's first access to its last, in seconds: at most so much processor time was spent accessing.
  double seconds() const;

  /// Beyond so many threads at once hardly any adds another kind of access.
  static constexpr uint64_t kMostTlbs = 64;

private:
  struct Span {
    uint64_t first_ns, last_ns;
    uint32_t tlb = 0;
  };
  std::unordered_map<uint64_t, Span> spans_; ///< by thread
  uint32_t count_ = 1;
};

} // namespace smalloc::benefit
