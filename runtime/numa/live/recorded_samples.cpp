// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_samples.cpp samples one of every N accesses that the program passes, at a random place
// among the N.
#include "runtime/numa/live/recorded_samples.h"
#include "runtime/numa/live/pages.h"
#include "runtime/numa/live/sample_ring.h"
#include "smalloc/base/units.h"

#include <atomic>
#include <sched.h>

namespace smalloc::numa {
namespace {

SampleRing *g_ring;
std::atomic<uint32_t> g_listen_period{0};

/// One access of every N, at a random place. In a loop over a power of two, every N-th access would
/// be to the same few pages for ever.
struct Stratum {
  uint64_t until;  ///< accesses up to the sample, included; 0: not begun
  uint64_t behind; ///< accesses of the N that follow the sample
  uint32_t period, random;

  void begin(uint32_t n) {
    period = n;
    if (random == 0)
      random = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(this) >> 4) | 1;
    until = behind = 0;
    next();
  }
  void next() {
    constexpr uint32_t kChanceFrom = 64; // below, every N-th access hardly makes a regular pattern
                                         // of pages
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    const uint32_t place = period < kChanceFrom ? period - 1 : random % period;
    until += behind + 1 + place;
    behind = period - 1 - place;
  }
};
__thread Stratum t_stratum __attribute__((tls_model("initial-exec")));

} // namespace

void tell_access(uint64_t address, uint32_t accesses) {
  const uint32_t period = g_listen_period.load(std::memory_order_acquire);
  if (period == 0)
    return;
  constexpr uint64_t kMostAtOnce = 64; // samples of one page: more would add nothing
  uint64_t left = min_of(uint64_t{accesses}, kMostAtOnce * period);
  Stratum &stratum = t_stratum;
  if (stratum.period != period)
    stratum.begin(period);
  while (left >= stratum.until) {
    const int cpu = sched_getcpu();
    g_ring->put(address, cpu < 0 ? 0 : static_cast<uint32_t>(cpu));
    left -= stratum.until;
    stratum.until = 0;
    stratum.next();
  }
  stratum.until -= left;
}

void listen_to_accesses(unsigned sample_period) {
  if (sample_period && !g_ring) {
    // zeros are its initial state
    g_ring = static_cast<SampleRing *>(map_pages(sizeof(SampleRing)));
    if (!g_ring)
      return;
  }
  g_listen_period.store(sample_period, std::memory_order_release);
}

bool take_recorded(uint64_t &address, uint32_t &cpu) {
  return g_ring && g_ring->take(address, cpu);
}

uint64_t lost_of_recorded() { return g_ring ? g_ring->lost() : 0; }

} // namespace smalloc::numa
