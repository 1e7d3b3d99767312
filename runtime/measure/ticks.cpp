// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ticks.cpp times the chain of additions and the rate of the tick counter.
#include "runtime/measure/ticks.h"

#include <chrono>

namespace smalloc::calibrate {

uint64_t chain_ticks() {
  // The addend is in a register: Golden Cove and later add small constants while renaming
  // registers, six a cycle.
  uint64_t sum = 0, one = 1;
  __asm__ volatile("" : "+r"(one));
  const uint64_t before = ticks();
  for (unsigned i = 0; i < kChainCycles / 8; i++) {
    // The empty statements prevent the compiler from adding eight at once.
    for (unsigned k = 0; k < 8; k++) {
      sum += one;
      __asm__ volatile("" : "+r"(sum));
    }
  }
  return ticks() - before;
}

double ticks_per_second() {
  using Clock = std::chrono::steady_clock;
  // 20 ms: the two readings are about 100 ns apart at worst, unless the process is preempted
  // between them. So the attempt with the shortest gap of three counts.
  double best_gap = 1, rate = 1e9;
  for (int attempt = 0; attempt < 3; attempt++) {
    const auto start = Clock::now();
    const uint64_t first = ticks();
    const double gap = std::chrono::duration<double>(Clock::now() - start).count();
    while (Clock::now() - start < std::chrono::milliseconds(20)) {
    }
    const uint64_t last = ticks();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (gap + (seconds - 0.02) < best_gap) {
      best_gap = gap + (seconds - 0.02);
      rate = static_cast<double>(last - first) / seconds;
    }
  }
  return rate;
}

} // namespace smalloc::calibrate
