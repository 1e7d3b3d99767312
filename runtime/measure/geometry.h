// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// geometry.h measures the TLB of a machine from latencies alone. It finds entries and ways per
// level and page size, and the costs of a second-level hit and of a page walk. It also finds the
// page size that really backs superpages. It uses neither CPUID nor presets; calibrated_profile.h
// merges the sources.
//
// Each number comes from several rounds, on base pages newly allocated by the kernel. If the rounds
// disagree, the number is reported as unknown ("noisy").
#pragma once

#include "runtime/measure/latency_source.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace smalloc::calibrate {

// A quantity with the minimum and maximum of the rounds.
struct Estimate {
  double value = 0, low = 0, high = 0;
};

struct LevelEstimate {
  unsigned level = 1;
  uint64_t page_bytes = 4096;
  Estimate entries;
  std::optional<unsigned> ways; // 0: fully associative
  bool shared = false;          // base pages and superpages use the same entries
};

struct WalkPoint {
  uint64_t page_bytes = 0, pages = 0;
  Estimate cycles; // mean of the middle half of the rounds, and their quartiles
};

struct Geometry {
  std::vector<LevelEstimate> levels;
  // Entries of the base pages' second level if its rounds disagree: the level exists, but its size
  // is unknown.
  std::optional<Estimate> doubtful_second_level;
  std::optional<Estimate> second_level_hit_cycles;
  std::vector<WalkPoint> walks;
  // Cycles that a walk adds to each load if the loads do not wait for each other.
  std::vector<WalkPoint> overlapped_walks;
  // As overlapped_walks, with data in the caches: one line of each page.
  std::vector<WalkPoint> overlapped_near_walks;
  // The smaller of the guest's and the host's page, for memory advised to be on superpages.
  std::optional<uint64_t> backing_page_bytes;
  // Numbers that could not be measured, with the reason: "TLB level 2, 2 MiB: unknown (backing 4
  // KiB)".
  std::vector<std::string> unknown;
  double noise_ratio = 1; // median over all chases
  bool noisy = false;     // some number was discarded because rounds disagreed
};

struct GeometryPlan {
  uint64_t base_page_bytes = 4096;
  std::vector<uint64_t> superpage_bytes; // of transparent superpages; may lack 2 MiB
  std::vector<uint64_t> other_bytes;     // further sizes: 16 and 64 KiB, 1 GiB
  // Three rounds give a median and a range; a fourth would cost a third of the time more.
  unsigned rounds = 3;
  // 6 % per step: at most six points from one end of a 4-way ramp to the other.
  double grid_ratio = 1.06;
  // Largest page count in the search for levels: two times the largest second level known (Zen 5:
  // 4096).
  uint64_t max_pages = 8192;
  // Rounds of the walk curve; the cost of a walk varies more from memory to memory. If hurry()
  // returns true, least_walk_rounds are enough.
  unsigned walk_rounds = 12, least_walk_rounds = 3;
  std::function<bool()> hurry = [] { return false; };
  // Page counts of the walk curve, as far as memory allows. 128 Ki base pages are 512 MiB: their
  // page tables no longer fit the caches that hold those of 256 MiB. Programs that gain most have
  // page tables of that size.
  std::vector<uint64_t> walk_pages = {4096, 8192, 16384, 32768, 65536, 131072};
  // Above this page count, memory takes long to allocate and to touch: measured in far_rounds
  // rounds only.
  uint64_t far_pages = 65536;
  unsigned far_rounds = 5;
  std::function<void(double)> progress = [](double) {};
};

Geometry measure_geometry(LatencySource &source, const GeometryPlan &plan);

} // namespace smalloc::calibrate
