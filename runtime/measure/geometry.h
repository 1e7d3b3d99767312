// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// geometry.h decides what a machine's TLB looks like from latencies alone: entries and ways per
// level and page size, what a second-level hit and a page walk cost, which page size really backs
// superpages. It sees neither CPUID nor presets; calibrated_profile.h puts the sources together.
//
// Each number comes from several rounds, on base pages that the kernel gives anew. Rounds that disagree make no number:
// "noisy" is said rather than guessed.
#pragma once

#include "runtime/measure/latency_source.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace smalloc::calibrate {

// A quantity with the least and the greatest of the rounds.
struct Estimate {
  double value = 0, low = 0, high = 0;
};

struct LevelEstimate {
  unsigned level = 1;
  uint64_t page_bytes = 4096;
  Estimate entries;
  std::optional<unsigned> ways; // 0: fully associative
  bool shared = false;          // serves base pages and superpages from the same entries
};

struct WalkPoint {
  uint64_t page_bytes = 0, pages = 0;
  Estimate cycles; // the mean of the middle half of the rounds, and their quartiles
};

struct Geometry {
  std::vector<LevelEstimate> levels;
  // Entries of base pages' second level whose rounds disagree: no number, but there is such a level.
  std::optional<Estimate> doubtful_second_level;
  std::optional<Estimate> second_level_hit_cycles;
  std::vector<WalkPoint> walks;
  // Where loads do not wait for each other: what a walk adds to each.
  std::vector<WalkPoint> overlapped_walks;
  // The same where the caches hold what they load: one line of each page.
  std::vector<WalkPoint> overlapped_near_walks;
  // The smaller of the guest's and the host's page, for memory that was asked to be on superpages.
  std::optional<uint64_t> backing_page_bytes;
  // What could not be found, with the reason: "TLB level 2, 2 MiB: unknown (backing 4 KiB)".
  std::vector<std::string> unknown;
  double noise_ratio = 1; // median over all chases
  bool noisy = false;     // some number was given up because rounds disagreed
};

struct GeometryPlan {
  uint64_t base_page_bytes = 4096;
  std::vector<uint64_t> superpage_bytes; // of transparent superpages, 2 MiB among them or not
  std::vector<uint64_t> other_bytes;     // further sizes: 16 and 64 KiB, 1 GiB
  // Three rounds give a median and a range; one more costs a third of the time.
  unsigned rounds = 3;
  // 6 % a step: at most six points from one end of a 4-way ramp to the other.
  double grid_ratio = 1.06;
  // Largest page count looked at for levels: four times the largest second level known (Zen 5:
  // 4096).
  uint64_t max_pages = 8192;
  // Rounds of the walk curve: what a walk costs differs more from memory to memory. Fewer when
  // there is a hurry.
  unsigned walk_rounds = 12, least_walk_rounds = 3;
  std::function<bool()> hurry = [] { return false; };
  // Page counts of the walk curve, as far as memory allows. 128 Ki base pages are 512 MiB: the page tables of programs that gain most are
  // out of the caches that hold those of 256 MiB.
  std::vector<uint64_t> walk_pages = {4096, 8192, 16384, 32768, 65536, 131072};
  // Memory for more than so many pages takes long to find and to touch: in these rounds only.
  uint64_t far_pages = 65536;
  unsigned far_rounds = 5;
  std::function<void(double)> progress = [](double) {};
};

Geometry measure_geometry(LatencySource &source, const GeometryPlan &plan);

} // namespace smalloc::calibrate
