// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_samples.h receives the accesses that an instrumented program passes, and takes samples
// of them.
#ifndef RUNTIME_NUMA_LIVE_TOLD_SAMPLES_H
#define RUNTIME_NUMA_LIVE_TOLD_SAMPLES_H

#include <cstdint>

namespace smalloc::numa {

/// Receives an access of an instrumented program; any thread. `accesses`: number of accesses since
/// the last call of this function, this one included.
void tell_access(uint64_t address, uint32_t accesses);
/// Sets N: from now on tell_access() takes one access of every `sample_period`; 0: none.
void listen_to_accesses(unsigned sample_period);
/// Takes the next sample and the processor that it was taken on. False: there is none now.
bool take_recorded(uint64_t &address, uint32_t &cpu);
/// Returns the number of samples for which there was no room.
uint64_t lost_of_recorded();

} // namespace smalloc::numa
#endif
