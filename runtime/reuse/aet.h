// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// aet.h computes misses from reuse times alone (AET: Hu et al., USENIX ATC 2016). Let P(t) be the
// share of accesses whose page is not used again within t accesses. A page that is not used moves
// P(t) places down the LRU list at its t-th step. It leaves a TLB of C entries at the time T where
// the sum of P(0..T) reaches C; the miss ratio is P(T).
//
// Times need no tree, and those of several threads can be combined afterwards: if thread i makes
// the share f_i of all accesses, its time passes at f_i of the common one. Pages that threads share
// count once for each of them. O(1) an access. It is a model: exact for random streams, inexact
// where reuse has phases.
#pragma once

#include "runtime/reuse/engine.h"
#include "runtime/reuse/histogram.h"
#include "runtime/reuse/page_index.h"

#include <vector>

namespace smalloc::reuse {

class Aet : public Engine {
public:
  void access(std::span<const uint64_t> pages) override;
  double accesses() const override { return static_cast<double>(now_); }
  double misses(uint64_t capacity) const override;
  size_t memory_bytes() const override;
  /// Returns the reuse times, in accesses; a use right after the last one has 1.
  const Histogram &times() const { return times_; }

private:
  PageIndex index_;            // page -> number
  std::vector<uint64_t> last_; // by number: time of the last use
  Histogram times_;
  uint64_t now_ = 0;
};

/// Returns the miss ratio of threads that share `capacity` entries. `threads`: the reuse times of
/// each thread's own stream; all run over the whole time. Returns 0 if there was no access.
double composed_miss_ratio(std::span<const Histogram *const> threads, uint64_t capacity);

} // namespace smalloc::reuse
