// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_samples.h decides what an instrumented program may tell of its accesses, and how samples of them are taken.
#ifndef RUNTIME_NUMA_LIVE_TOLD_SAMPLES_H
#define RUNTIME_NUMA_LIVE_TOLD_SAMPLES_H

#include <cstdint>

namespace smalloc::numa {

/// Where an instrumented program's accesses arrive: any thread. `accesses`: how many since the last call of this function, this
/// one included.
void tell_access(uint64_t address, uint32_t accesses);
/// From now on tell_access() takes one of every N; 0: none.
void listen_to_accesses(unsigned sample_period);
/// The next sample and the processor that it was taken on. False: there is none now.
bool take_recorded(uint64_t &address, uint32_t &cpu);
/// Samples for which there was no room.
uint64_t lost_of_recorded();

} // namespace smalloc::numa
#endif
