// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pointer_chase.h decides how this machine's latencies are taken: a random single cycle of
// pointers (Sattolo 1986), one line a page, repeated in pieces of some 20 microseconds, of which
// the least counts. On a busy machine most pieces are undisturbed, whatever the mean says. Cycles
// come from additions timed between the pieces, so that a clock that changes is followed.
#pragma once

#include "runtime/measure/latency_source.h"
#include "runtime/measure/page_region.h"

#include <random>
#include <utility>
#include <vector>

namespace smalloc::calibrate {

class PointerChase : public LatencySource {
public:
  struct Plan {
    uint64_t most_lines = 65536;   // of the longest chase on base pages
    uint64_t superpage_bytes = 0;  // 0: none
    uint64_t superpage_memory = 0; // bytes that may be touched on superpages
    unsigned repeats = 41;         // pieces of a chase
    // Further sizes (medium ones, 1 GiB), each with as many bytes at most.
    std::vector<std::pair<uint64_t, uint64_t>> other_sizes = {};
  };
  explicit PointerChase(const Plan &plan);

  std::optional<Latency> chase(const Chase &chase) override;
  uint64_t max_lines(uint64_t page_bytes, uint64_t stride_bytes) const override;
  uint64_t base_page_bytes() const override { return base_.page_bytes(); }
  void refresh() override;

  // From the additions timed so far.
  double cycles_per_tick() const { return cycles_per_tick_; }
  // Superpages were asked for and given.
  bool has_superpages() const { return has_superpages_; }

private:
  // With several lines a page.
  std::optional<Latency> long_chase(const Chase &chase);
  PageRegion base_region() const;
  char *line(const Chase &chase, uint64_t i) const;
  const PageRegion *region_of(uint64_t page_bytes) const; // null: such pages were not given

  Plan plan_;
  PageRegion base_, super_, packed_;
  std::vector<PageRegion> others_;
  bool has_superpages_ = false;
  double cycles_per_tick_ = 1;
  std::mt19937_64 random_{0x5deece66d}; // any seed: the order only has to be unpredictable
};

} // namespace smalloc::calibrate
