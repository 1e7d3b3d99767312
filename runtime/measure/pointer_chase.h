// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pointer_chase.h measures latencies of this machine with a random single cycle of pointers
// (Sattolo 1986), one line per page. The chase is timed in pieces of about 20 microseconds, and the
// minimum of a piece's repeats counts. On a busy machine most pieces are undisturbed even if the
// mean is not. Additions timed between the pieces convert ticks to cycles, so a changing clock does
// no harm.
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
    unsigned repeats = 41;         // repeats of a chase's piece
    // Further page sizes (medium ones, 1 GiB), each with the bytes that it may use.
    std::vector<std::pair<uint64_t, uint64_t>> other_sizes = {};
  };
  explicit PointerChase(const Plan &plan);

  std::optional<Latency> chase(const Chase &chase) override;
  uint64_t max_lines(uint64_t page_bytes, uint64_t stride_bytes) const override;
  uint64_t base_page_bytes() const override { return base_.page_bytes(); }
  void refresh() override;

  // Returns the ratio from the last timed additions.
  double cycles_per_tick() const { return cycles_per_tick_; }
  // True if the kernel gave superpages.
  bool has_superpages() const { return has_superpages_; }

private:
  // Measures a chase with several lines per page.
  std::optional<Latency> long_chase(const Chase &chase);
  PageRegion base_region() const;
  char *line(const Chase &chase, uint64_t i) const;
  const PageRegion *region_of(uint64_t page_bytes) const; // null: the kernel gave no such pages

  Plan plan_;
  PageRegion base_, super_, packed_;
  std::vector<PageRegion> others_;
  bool has_superpages_ = false;
  double cycles_per_tick_ = 1;
  std::mt19937_64 random_{0x5deece66d}; // any seed: the order must only be unpredictable
};

} // namespace smalloc::calibrate
