// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// record_source.h decides who tells a recording which data are accessed: the program, compiled with profile-generate; the processor's
// PMU, which samples accesses that missed the TLB; or the kernel, page fault by page fault.
#pragma once

#include "runtime/pmu/address_events.h"

#include <cstdint>
#include <string>

namespace smalloc::cli {

struct RecordSource {
  std::string setting; ///< for SMALLOC_CONF, with its comma in front; empty: the program tells
  std::string note;    ///< one line for people; empty: nothing to say
};

/// wanted: auto (or empty: auto that says nothing where the program tells its accesses), pmu, faults or instrumented. period 0: the
/// default. Throws Failure when the PMU is wanted and does not work.
RecordSource choose_source(const std::string &wanted, uint64_t period, bool tells_accesses,
                           const pmu::AddressProbe &probe);

} // namespace smalloc::cli
