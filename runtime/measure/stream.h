// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// stream.h is the built-in check of a prediction. It runs the four kernels of STREAM (J. McCalpin,
// 1995: copy, scale, add, triad) on three arrays from malloc, 1 GiB together. Gorman (2010)
// compared the estimated cost of TLB misses with STREAM's gain: 17.47 % against 13.69 s to 11.95 s.
// Deviation from STREAM: the arrays are allocated, so that their page size can be chosen.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace smalloc::calibrate {

struct StreamPlan {
  uint64_t bytes = uint64_t{1} << 30; // of the three arrays together
  unsigned repeats = 10;              // as in STREAM, with the best as the result
};

constexpr const char *kStreamKernels[] = {"copy", "scale", "add", "triad"};

struct StreamRates {
  std::array<double, 4> bytes_per_second{}; // best of the repeats
  bool correct = false;                     // every element is what the arithmetic gives
};

// Runs the kernels. Returns nothing if there is no memory for the arrays.
std::optional<StreamRates> run_stream(const StreamPlan &plan);

// Returns the arrays (bits: a 1, b 2, c 4) that each pass reads or writes side by side, the
// initialisation first, and at the end the check of the results, array by array. The order of
// STREAM's page accesses is thus known without recording it.
std::vector<unsigned> stream_passes(const StreamPlan &plan);

} // namespace smalloc::calibrate
