// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// event_clock.h gives each event its time. Reading the system's clock takes as long as a short
// allocation, so it is read only now and then. In between, time comes from the processor's counter
// of ticks, which takes a tenth of that. A thread's times never go back; the times of two threads
// differ by some nanoseconds.
//
// Inside the traced process: no malloc, no C++ runtime.
#ifndef RUNTIME_TRACE_EVENT_CLOCK_H
#define RUNTIME_TRACE_EVENT_CLOCK_H

#include "smalloc/base/clock.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace smalloc::trace {

/// Last readings of one thread; zeros: none yet.
struct ThreadTime {
  uint64_t now_ns, ticks; ///< at the last reading of the system's clock
  uint64_t last_ns;       ///< of the previous event
};

/// Clock of the recording, in nanoseconds since start().
class EventClock {
public:
  void start() {
    start_ns_ = 0;
    start_ns_ = system_ns();
    start_ticks_ = read_ticks();
    __atomic_store_n(&ns_a_tick_, 0, __ATOMIC_RELAXED);
  }

  uint64_t now(ThreadTime &t) {
    const uint64_t ticks = read_ticks(), passed = ticks - t.ticks;
    const uint64_t ns_a_tick = __atomic_load_n(&ns_a_tick_, __ATOMIC_RELAXED);
    uint64_t now;
    // The system's clock is also read if the counter has gone back, or belongs to another processor
    // that counts apart.
    if (ns_a_tick == 0 || t.ticks == 0 || passed > kMostTicks) {
      now = t.now_ns = system_ns();
      t.ticks = ticks;
      // The first millisecond is left out: a reading that took long would distort the frequency.
      if (now > kMillisecond && ticks > start_ticks_)
        __atomic_store_n(&ns_a_tick_,
                         static_cast<uint64_t>(static_cast<double>(now) * kUnit /
                                               static_cast<double>(ticks - start_ticks_)),
                         __ATOMIC_RELAXED);
    } else {
      now = t.now_ns + passed * ns_a_tick / kUnit;
    }
    if (now < t.last_ns)
      now = t.last_ns;
    return t.last_ns = now;
  }

  /// Converts a reading of CLOCK_MONOTONIC that was taken elsewhere.
  uint64_t since_start(uint64_t monotonic_ns) const {
    return monotonic_ns > start_ns_ ? monotonic_ns - start_ns_ : 0;
  }

private:
  static constexpr uint64_t kMillisecond = 1000000, kUnit = uint64_t{1} << 24;
  /// The longest time taken from the counter, and so the error of a bad frequency estimate: some 50
  /// us at 2.6 GHz, 130 us at Arm's 1 GHz.
  static constexpr uint64_t kMostTicks = uint64_t{1} << 17;

  /// Reads a counter that runs at a constant rate; 0 if the processor has no known one.
  static uint64_t read_ticks() {
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t now;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
#else
    return 0;
#endif
  }
  uint64_t system_ns() const { return clock_ns(CLOCK_MONOTONIC) - start_ns_; }

  uint64_t start_ns_ = 0, start_ticks_ = 0;
  uint64_t ns_a_tick_ = 0; ///< in 1 / kUnit; 0: not known yet
};

} // namespace smalloc::trace
#endif
