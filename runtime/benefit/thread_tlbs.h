// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// thread_tlbs.h assigns the threads of a recording to TLBs. A core has one TLB, and threads that
// run at once run on several cores. A thread that begins after another has ended takes over its
// core, with what is in its TLB. If more threads run at once than there were processors, they take
// turns.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace smalloc::benefit {

class ThreadTlbs {
public:
  /// Records that a thread accesses data at this time. Threads may come in any order, the times of
  /// each in theirs.
  void accesses(uint64_t thread, uint64_t time_ns);
  /// Assigns the TLBs, after the last access. processors: of the recording; 0: not known; more than
  /// kMostTlbs count as kMostTlbs. O(threads * TLBs).
  void settle(uint64_t processors);

  /// Returns a thread's TLB, from 0; 0 for a thread that accessed nothing.
  uint32_t of(uint64_t thread) const {
    const auto at = spans_.find(thread);
    return at == spans_.end() ? 0 : at->second.tlb;
  }
  uint32_t count() const { return count_; } ///< 1 at least
  /// Returns the seconds from each thread's first access to its last, summed: a bound of the
  /// processor time spent accessing.
  double seconds() const;

  /// Most TLBs: beyond this number of threads at once, hardly any adds another kind of access.
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
