// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// aet.h decides how misses follow from reuse times alone (AET: Hu et al., USENIX ATC 2016). With
// P(t) the share of accesses whose page is not used again within t accesses, a page that is not
// used moves P(t) places down the LRU list at its t-th step; it leaves a TLB of C entries at the time
// T where the sum of P(0..T) reaches C, and the miss ratio is P(T).
//
// Times need no tree, and those of several threads can be put together afterwards: while thread i makes
// the share f_i of all accesses, its time passes at f_i of the common one. Pages that threads share count
// once for each of them. O(1) an access; a model: exact for random streams, off where reuse has phases.
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
  /// Reuse times in accesses; a use right after the last has 1.
  const Histogram &times() const { return times_; }

private:
  PageIndex index_;            // page -> number
  std::vector<uint64_t> last_; // by number: time of the last use
  Histogram times_;
  uint64_t now_ = 0;
};

/// Miss ratio of threads that share `capacity` entries, each with the reuse times of its own
/// stream, all running over the whole time. 0 when nobody made an access.
double composed_miss_ratio(std::span<const Histogram *const> threads, uint64_t capacity);

} // namespace smalloc::reuse
