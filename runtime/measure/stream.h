// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// stream.h decides what the built-in check of a prediction is: the four kernels of STREAM (J.
// McCalpin, 1995: copy, scale, add, triad) on three arrays from malloc, 1 GB together. Gorman (2010)
// compared what TLB misses were said to cost with what STREAM gained: 17.47 % against 13.69 s to
// 11.95 s. Written anew: the arrays are allocated, so that pages can be chosen under it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace smalloc::calibrate {

struct StreamPlan {
  uint64_t bytes = uint64_t{1} << 30; // of the three arrays together
  unsigned repeats = 10;              // as in STREAM; the best counts
};

constexpr const char *kStreamKernels[] = {"copy", "scale", "add", "triad"};

struct StreamRates {
  std::array<double, 4> bytes_per_second{}; // best of the repeats
  bool correct = false;                     // every element is what the arithmetic gives
};

// Nothing when there is no memory for the arrays.
std::optional<StreamRates> run_stream(const StreamPlan &plan);

// The arrays (bits: a 1, b 2, c 4) that each pass goes through side by side, the initialisation
// first: the order of its pages is known without recording it.
std::vector<unsigned> stream_passes(const StreamPlan &plan);

} // namespace smalloc::calibrate
