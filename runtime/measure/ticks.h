// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ticks.h decides how short times are taken, and how they become core cycles without a PMU: a chain
// of dependent additions of registers takes one cycle each on every core that we know, whatever the clock is at
// the moment (method: Manegold, Calibrator; tlbmiss_cost.sh trusted /proc/cpuinfo instead).
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <ctime>
#endif

namespace smalloc::calibrate {

// Ticks of a counter that runs at a constant rate; ordered against loads before and after.
inline uint64_t ticks() {
#if defined(__x86_64__)
  _mm_lfence();
  const uint64_t now = __rdtsc();
  _mm_lfence();
  return now;
#elif defined(__aarch64__)
  uint64_t now;
  __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(now)::"memory");
  return now;
#else
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
#endif
}

// Ticks that a chain of kChainCycles dependent additions takes; one try.
constexpr unsigned kChainCycles = 16384;
uint64_t chain_ticks();

// Against the system's clock, over some milliseconds.
double ticks_per_second();

} // namespace smalloc::calibrate
