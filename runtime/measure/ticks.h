// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ticks.h times short intervals and converts them to core cycles without a PMU. A chain of
// dependent register additions takes one cycle per addition on every known core, whatever the
// current clock is. Method: Manegold, Calibrator (tlbmiss_cost.sh trusted /proc/cpuinfo instead).
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include "smalloc/base/clock.h"
#endif

namespace smalloc::calibrate {

// Returns the ticks of a constant-rate counter, ordered against loads before and after.
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
  return clock_ns(CLOCK_MONOTONIC);
#endif
}

// Returns the ticks of one chain of kChainCycles dependent additions.
constexpr unsigned kChainCycles = 16384;
uint64_t chain_ticks();

// Measures the counter's rate against the system's clock: the best of three attempts of 20 ms.
double ticks_per_second();

} // namespace smalloc::calibrate
